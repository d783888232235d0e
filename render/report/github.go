package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
)

// WriteGitHub writes an annotation for each finding, as GitHub Actions
// reads them from what a step prints: one line each, whatever stands in it. A
// title is what GitHub shows above it.
//
// GitHub shows 10 errors and 10 warnings of a step at the lines of a pull request;
// all of them are in its log.
func WriteGitHub(w io.Writer, r *Report) error {
	var commands strings.Builder
	for _, f := range r.Problems {
		properties := []string{"file=" + commandProperty.Replace(sanitize.Line(f.File))}
		if f.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", f.Line))
		}
		if f.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", f.Column))
		}
		_, rule := ruleAt(f.Rule)
		properties = append(properties, "title="+commandProperty.Replace(rule.Title))
		f.Message, f.Hint = sanitize.Line(f.Message), sanitize.Line(f.Hint)
		fmt.Fprintf(&commands, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), commandData.Replace(f.text()))
	}
	_, err := io.WriteString(w, commands.String())
	return err
}

// The escapes of workflow commands: those of a message, and those of a property,
// which ends with a comma, and the last with a colon.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
