package main

import (
	"fmt"
	"io"
	"strings"
)

// writeWorkflowCommands writes an annotation for each finding, as GitHub Actions
// reads them from what a step prints: one line each, whatever stands in it. A
// title is what GitHub shows above it.
//
// GitHub shows 10 errors and 10 warnings of a step at the lines of a pull request;
// all of them are in its log.
func writeWorkflowCommands(w io.Writer, v *validationReport) {
	for _, f := range v.Problems {
		properties := []string{"file=" + commandProperty.Replace(inert(f.File))}
		if f.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", f.Line))
		}
		if f.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", f.Column))
		}
		_, r := ruleAt(f.Rule)
		properties = append(properties, "title="+commandProperty.Replace(r.title))
		f.Message, f.Hint = inert(f.Message), inert(f.Hint)
		fmt.Fprintf(w, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), commandData.Replace(f.text()))
	}
}

// The escapes of workflow commands: those of a message, and those of a property,
// which ends with a comma, and the last with a colon.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
