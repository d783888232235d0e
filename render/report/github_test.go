package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/api/sanitize"
)

// GitHub reads one command from a line, and its properties up to the next double
// colon. This reads as its runner does.
func TestAWorkflowCommandIsOneLineWithWhatWasSaid(t *testing.T) {
	decode := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	for _, text := range []string{"a::b,c:d", "100%, and %0A", "::warning::x", "##[error]x", "a\n::error::b\r\n", "%25"} {
		var written bytes.Buffer
		if err := WriteGitHub(&written, reportOf(text)); err != nil {
			t.Fatal(err)
		}
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
		want := map[string]string{"file": sanitize.Line(text), "line": "3", "col": "5", "title": "Invalid NodePool", "message": sanitize.Line(text) + "\n" + sanitize.Line(text)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
