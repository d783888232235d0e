package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/hostile"
)

// documentFormats are how a report is written for a program to read.
var documentFormats = []string{"github", "gitlab", "json", "sarif", "yaml"}

func documentOf(t *testing.T, format string, r *Report) []byte {
	t.Helper()
	var document bytes.Buffer
	var err error
	switch format {
	case "github":
		err = WriteGitHub(&document, r)
	case "gitlab":
		err = WriteGitLab(&document, r)
	case "sarif":
		err = WriteSARIF(&document, r, "v1.2.3")
	case "json":
		err = render.WriteJSON(&document, r)
	case "yaml":
		err = render.WriteYAML(&document, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return document.Bytes()
}

// A hostile report, of which the first finding is wholly hostile, and the second
// is there to be found again.
func reportOf(text string) *Report {
	return &Report{Problems: []Finding{
		{Severity: Error, Rule: PoolRule, File: text, Line: 3, Column: 5, Pool: text, Message: text, Hint: text},
		{Severity: Warning, Rule: SelfJoinableRule, File: "z.yaml", Line: 7, Column: 1, Message: "the next one"},
	}}
}

// commandsOfOurs are those that WriteGitHub is there to write.
var commandsOfOurs = regexp.MustCompile(`(?m)^::(?:error|warning) file=`)

func TestHostileFindingsAreSanitized(t *testing.T) {
	texts := hostile.Samples()
	for _, each := range hostile.Bounded(16 << 10) {
		texts[each.Name] = each.Text
	}
	for name, text := range texts {
		for _, format := range documentFormats {
			t.Run(name+" "+format, func(t *testing.T) {
				written := documentOf(t, format, reportOf(text))
				if got := string(written); len(hostile.Hidden(got)) > 0 || len(hostile.Commands(commandsOfOurs.ReplaceAllString(got, ""))) > 0 || !utf8.ValidString(got) {
					t.Errorf("what cannot be seen, or is a command, is in %.300q", got)
				}
				if format != "github" && format != "yaml" && !json.Valid(written) {
					t.Errorf("it is no JSON: %.300q", written)
				}
			})
		}
	}
}
