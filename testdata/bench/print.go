package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// printFigures prints a line for each.
func printFigures(out io.Writer, figures []Figure) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		line := fmt.Sprintf("%s\t%s\t%.4g %s", f.Row, f.Name, f.Value, f.Unit)
		if f.Baseline != nil {
			line += fmt.Sprintf("\t%.3f × %.4g (%s)", f.Ratio(), f.Baseline.Value, f.Baseline.Name)
		} else {
			line += "\t"
		}
		switch {
		case f.Target == nil:
			line += "\t"
		case f.Missed():
			line += fmt.Sprintf("\tMISSED: at most %g", f.Target.AtMost)
		default:
			line += fmt.Sprintf("\tat most %g", f.Target.AtMost)
		}
		fmt.Fprintln(table, line)
	}
	if err := table.Flush(); err != nil {
		fmt.Fprintln(out, err)
	}
}
