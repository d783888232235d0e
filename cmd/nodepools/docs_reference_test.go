package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/docs"
)

var (
	firstCell  = regexp.MustCompile(`(?m)^\| ([^|]*) \|`)
	codeInCell = regexp.MustCompile("`([^`]+)`")

	// What is documented by name, where it is defined.
	definedCondition = regexp.MustCompile(`Condition = "(\w+)"`)
	definedReason    = regexp.MustCompile(`Reason = "(\w+)"`)
	definedKind      = regexp.MustCompile(`newKind\("(\w+)"`)
	recordedEvent    = regexp.MustCompile(`EventType(?:Normal|Warning), "(\w+)"`)
)

const clonesAlone = "a clone on disk fails so, and no source; diff says what to do"

// undocumented are reasons that no user sees on a source or a pool.
var undocumented = map[string]string{
	"Canceled":         "the controller ends, and writes no status",
	"RefAmbiguous":     clonesAlone,
	"CloneIncomplete":  clonesAlone,
	"MergeBaseUnclear": clonesAlone,
	"FileConverted":    clonesAlone,
}

// Every field of a pool and of a source has a row in the table of its page.
func TestEveryFieldIsDocumented(t *testing.T) {
	for page, spec := range map[string]any{"docs/pools.md": v1.NodePoolSpec{}, "docs/sources.md": v1.NodePoolSourceSpec{}} {
		rows, fields := documentedNames(docs.Read(t, page)), reflect.TypeOf(spec)
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			if name == "" || !rows[name] {
				t.Errorf("%s: no row has the field %q of %s", page, name, fields.Name())
			}
		}
	}
}

// Every condition, every reason and every event has a row that says what it means.
func TestEveryReasonIsDocumented(t *testing.T) {
	conditions := documentedNames(docs.Read(t, "docs/operate.md"))
	reasons := documentedNames(docs.Read(t, "docs/troubleshooting.md"))
	for name := range conditions { // and events, of which some are no reasons
		reasons[name] = true
	}
	for _, c := range []struct {
		reason  string
		folder  string
		defined *regexp.Regexp
		rows    map[string]bool
		least   int
	}{
		{"conditions are in the table of conditions", "api/v1", definedCondition, conditions, 10},
		{"reasons have what to do", "api/v1", definedReason, reasons, 20},
		{"so have failures of Git", "source", definedKind, reasons, 20},
		{"events are in the table of events", "apply", recordedEvent, conditions, 6},
	} {
		found := map[string]bool{}
		for _, code := range productCode(t, c.folder) {
			for _, match := range c.defined.FindAllStringSubmatch(code, -1) {
				found[match[1]] = true
			}
		}
		if len(found) < c.least {
			t.Errorf("%s: %d were found in %s: the test does not find what there is", c.reason, len(found), c.folder)
		}
		for name := range found {
			if !c.rows[name] && undocumented[name] == "" {
				t.Errorf("%s: %s has no row", c.reason, name)
			}
		}
	}
}

// documentedNames returns what is set as code in the first cells of the tables of a
// page.
func documentedNames(page docs.Page) map[string]bool {
	names := map[string]bool{}
	for _, cell := range firstCell.FindAllStringSubmatch(page.Text, -1) {
		for _, name := range codeInCell.FindAllStringSubmatch(cell[1], -1) {
			names[name[1]] = true
		}
	}
	return names
}

// productCode returns the code in a folder of the repository, without that of tests.
func productCode(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(docs.Root(t), folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		files = append(files, string(code))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
