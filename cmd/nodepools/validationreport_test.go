package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

// documentFormats are how a report is written for a program to read.
var documentFormats = []string{"github", "gitlab", "json", "sarif", "yaml"}

func documentOf(t *testing.T, format string, v *validationReport) []byte {
	t.Helper()
	document, err := validateOptions{output: outputFlags{format: format}, version: "v1.2.3"}.document(v)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// A hostile report, of which the first finding is wholly hostile, and the second
// is there to be found again.
func reportOf(text string) *validationReport {
	return &validationReport{Problems: []finding{
		{Severity: severityError, Rule: rulePool, File: text, Line: 3, Column: 5, Pool: text, Message: text, Hint: text},
		{Severity: severityWarning, Rule: ruleSelfJoinable, File: "z.yaml", Line: 7, Column: 1, Message: "the next one"},
	}}
}

// commandsOfOurs are those that validate -o github is there to write.
var commandsOfOurs = regexp.MustCompile(`(?m)^::(?:error|warning) file=`)

func TestHostileFindingsAreInert(t *testing.T) {
	texts := maps.Clone(hostile)
	for _, each := range hostiletexts.Strings() {
		texts[each.Name] = each.Text
	}
	for name, text := range texts {
		for _, format := range documentFormats {
			t.Run(name+" "+format, func(t *testing.T) {
				written := documentOf(t, format, reportOf(text))
				if got := string(written); len(hostiletexts.Hidden(got)) > 0 || len(hostiletexts.Commands(commandsOfOurs.ReplaceAllString(got, ""))) > 0 || !utf8.ValidString(got) {
					t.Errorf("what cannot be seen, or is a command, is in %.300q", got)
				}
				if format != "github" && format != "yaml" && !json.Valid(written) {
					t.Errorf("it is no JSON: %.300q", written)
				}
			})
		}
	}
}

// GitHub reads one command from a line, and its properties up to the next double
// colon. This reads as its runner does.
func TestAWorkflowCommandIsOneLineWithWhatWasSaid(t *testing.T) {
	decode := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	for _, text := range []string{"a::b,c:d", "100%, and %0A", "::warning::x", "##[error]x", "a\n::error::b\r\n", "%25"} {
		var written bytes.Buffer
		writeWorkflowCommands(&written, reportOf(text))
		lines := strings.Split(strings.TrimSuffix(written.String(), "\n"), "\n")
		if len(lines) != 2 {
			t.Fatalf("%q makes %d lines", text, len(lines))
		}
		command, data, _ := strings.Cut(strings.TrimPrefix(lines[0], "::error "), "::")
		got := map[string]string{"message": decode.Replace(data)}
		for _, property := range strings.Split(command, ",") {
			key, value, _ := strings.Cut(property, "=")
			got[key] = decode.Replace(value)
		}
		want := map[string]string{"file": inert(text), "line": "3", "col": "5", "title": "Invalid NodePool", "message": inert(text) + "\n" + inert(text)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestArtifactAt(t *testing.T) {
	for _, test := range []struct {
		reason, name string
		want         sarifArtifact
	}{
		{"as it is", "pools/gpu.yaml", sarifArtifact{"pools/gpu.yaml", "%SRCROOT%"}},
		{"what a URI has for itself is escaped", "a b/100%#?ü.yaml", sarifArtifact{"a%20b/100%25%23%3F%C3%BC.yaml", "%SRCROOT%"}},
		{"a colon makes no scheme", "javascript:alert(1).yaml", sarifArtifact{"./javascript:alert%281%29.yaml", "%SRCROOT%"}},
		{"an absolute one has no base", "/tmp/a b.yaml", sarifArtifact{"file:///tmp/a%20b.yaml", ""}},
		{"slashes make no host", "//example.com/a.yaml", sarifArtifact{"file:///example.com/a.yaml", ""}},
	} {
		got := artifactAt(test.name)
		if got != test.want {
			t.Errorf("%s: %q became %q", test.reason, test.name, got)
		}
		if _, err := url.Parse(got.URI); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}

func TestFingerprints(t *testing.T) {
	above := []finding{{Rule: rulePool, File: "a.yaml", Line: 3, Message: "m"}, {Rule: rulePool, File: "a.yaml", Line: 9, Message: "m"}, {Rule: rulePool, File: "b.yaml", Line: 3, Message: "m"}}
	moved := []finding{{Rule: rulePool, File: "a.yaml", Line: 4, Message: "m"}, {Rule: rulePool, File: "a.yaml", Line: 10, Message: "m"}, {Rule: rulePool, File: "b.yaml", Line: 3, Message: "m"}}
	if diff := cmp.Diff(fingerprints(above), fingerprints(moved)); diff != "" {
		t.Errorf("a line put in above changes them:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, digest := range fingerprints(above) {
		if seen[digest] {
			t.Errorf("two findings share %s", digest)
		}
		seen[digest] = true
	}
}

// A rule that a server knows is never renamed.
func TestRulesStay(t *testing.T) {
	var got []string
	for _, r := range rules {
		got = append(got, string(r.id)+" "+string(r.severity))
	}
	want := []string{"path error", "file error", "document error", "pool error", "self-joinable warning"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
