package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/logging"
	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

// commandsOfOurs are those that validate -o github is there to write.
var commandsOfOurs = regexp.MustCompile(`(?m)^::(?:error|warning) file=`)

// obeyed is what of an output a terminal or a CI runner would obey.
func obeyed(output string) []string {
	found := hostiletexts.Commands(commandsOfOurs.ReplaceAllString(output, ""))
	for _, r := range hostiletexts.Hidden(output) {
		found = append(found, string(r))
	}
	return found
}

// Whatever stands in a file, in its name or on the command line, what validate says
// of it is no command to the CI job that it runs in.
func TestNothingThatIsSaidIsACommand(t *testing.T) {
	for _, each := range hostiletexts.Strings() {
		if len(each.Text) > 1000 || strings.Contains(each.Text, "\x00") {
			continue
		}
		text, err := json.Marshal(each.Text)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		content := "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: " + string(text) + "\nspec:\n  " + string(text) + ": x\n  labels: {" + string(text) + ": " + string(text) + "}\n  handler: " + string(text) + "\n"
		name := filepath.Join(folder, strings.ReplaceAll(each.Text, "/", "_")+".yaml")
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(folder) // so that the name of the file begins a line
		for _, args := range [][]string{
			{"validate", "."}, {"validate", folder}, {"validate", folder, "-o", "github"}, {"validate", folder, "-o", "json"}, {"validate", folder, "-o", "sarif"}, {"validate", folder, "-o", "gitlab"},
			{"validate", filepath.Join(folder, "none", each.Text)}, {"render", folder}, {each.Text}, {"validate", folder, "-o", each.Text}, {"validate", each.Text, each.Text}, {"validate", "--" + each.Text},
		} {
			var out, errs bytes.Buffer
			execute(t.Context(), append([]string{"nodepools"}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs})
			for stream, output := range map[string]string{"standard output": out.String(), "standard error": errs.String()} {
				if found := obeyed(output); len(found) > 0 {
					t.Errorf("%s: %.60q has %q on %s:\n%.500q", each.Name, args, found, stream, output)
				}
			}
		}
	}
}

// A log is read from the output of a job as well, in either format, and JSON stays
// JSON.
func TestNothingThatIsLoggedIsACommand(t *testing.T) {
	for _, each := range hostiletexts.Strings() {
		for _, format := range logging.Formats() {
			var out bytes.Buffer
			logger := logging.New(&out, "info", format)
			logger.Error(errors.New(each.Text), each.Text, "key", each.Text, "list", []string{each.Text}, "k"+strings.ReplaceAll(each.Text[:min(len(each.Text), 50)], "\n", ""), 1)
			if found := obeyed(out.String()); len(found) > 0 {
				t.Errorf("%s as %s has %q: %.500q", each.Name, format, found, out.String())
			}
			if format == "json" && !json.Valid(out.Bytes()) {
				t.Errorf("%s is no JSON: %.500q", each.Name, out.String())
			}
		}
	}
}
