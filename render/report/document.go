package report

import (
	"bytes"
	"fmt"

	"github.com/nodepools/nodepools/render"
)

// Formats returns the names of those that [Report.Document] knows.
func Formats() []string { return []string{"json", "yaml", "github", "gitlab", "sarif"} }

// Document returns the report in one of the [Formats]. Those of CI systems have the names
// of files that fromRoot makes of those of the report, and SARIF has the version of
// nodepools.
func (r *Report) Document(format string, fromRoot func(file string) string, version string) ([]byte, error) {
	var text bytes.Buffer
	var err error
	switch format {
	case "json":
		err = render.WriteJSON(&text, r)
	case "yaml":
		err = render.WriteYAML(&text, r)
	case "github":
		err = WriteGitHub(&text, r.WithFiles(fromRoot))
	case "gitlab":
		err = WriteGitLab(&text, r.WithFiles(fromRoot))
	case "sarif":
		err = WriteSARIF(&text, r.WithFiles(fromRoot), version)
	default:
		err = fmt.Errorf("a report has no format %q", format)
	}
	return text.Bytes(), err
}
