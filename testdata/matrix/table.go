package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/table"
)

// notRun is what stands in the place of a result that there is not.
const notRun = "not run"

// writeText prints runs for people.
func writeText(w io.Writer, runs []Run) {
	if len(runs) == 0 {
		return
	}
	var versions []string
	for _, run := range runs {
		versions = append(versions, run.Kubernetes)
	}
	columns, rows := rowsOf(versions, runs)
	table.Text{Columns: columns, Gap: "  "}.Write(w, rows)
	for _, note := range notes(runs) {
		fmt.Fprintln(w, note)
	}
}

// section is what the page has of runs: the table of all versions, what has not passed, and
// what the areas are.
func section(all []string, runs []Run) string {
	columns, rows := rowsOf(all, runs)
	for _, row := range rows {
		for i := range row {
			row[i] = plain(row[i])
		}
	}
	head, lines := table.Markdown(columns, rows)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n\n", head, strings.Join(lines, "\n"))
	if list := notes(runs); len(list) > 0 {
		for _, note := range list {
			fmt.Fprintf(&b, "- %s\n", plain(note))
		}
		b.WriteString("\n")
	}
	var what [][]string
	for _, a := range areas {
		what = append(what, []string{a.name, a.holds})
	}
	head, lines = table.Markdown([]table.Column{{Title: "column"}, {Title: "what its tests show"}}, what)
	fmt.Fprintf(&b, "%s\n%s\n\n", head, strings.Join(lines, "\n"))
	return b.String()
}

// rowsOf has a row for each version, and a column for each area.
func rowsOf(all []string, runs []Run) ([]table.Column, [][]string) {
	columns := []table.Column{{Title: "Kubernetes"}}
	for _, a := range areas {
		columns = append(columns, table.Column{Title: a.name})
	}
	columns = append(columns, table.Column{Title: "run"})
	var rows [][]string
	for _, version := range all {
		row := []string{version}
		i := slices.IndexFunc(runs, func(r Run) bool { return r.Kubernetes == version })
		for _, a := range areas {
			cell := notRun
			if i >= 0 {
				cell = cellOf(runs[i], a.name)
			}
			row = append(row, cell)
		}
		when := notRun
		if i >= 0 {
			when = runs[i].Date + ", " + runs[i].Revision
		}
		rows = append(rows, append(row, when))
	}
	return columns, rows
}

// cellOf is how many tests of an area have passed, and of how many.
func cellOf(run Run, name string) string {
	for _, a := range run.Areas {
		if a.Name == name {
			return fmt.Sprintf("%d of %d", a.Passed, a.Passed+len(a.Others))
		}
	}
	return notRun
}

// notes say what has not passed, and why.
func notes(runs []Run) []string {
	var all []string
	for _, run := range runs {
		for _, a := range run.Areas {
			for _, o := range a.Others {
				all = append(all, fmt.Sprintf("%s, %s: %s has %s: %s", run.Kubernetes, a.Name, o.Test, verb(o.Outcome), o.Reason))
			}
		}
	}
	return all
}

// verb makes a sentence of an outcome.
func verb(outcome string) string {
	if outcome == skippedTest {
		return "been skipped"
	}
	return outcome
}

// plain is text that is text in Markdown, too, and in one line.
func plain(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	).Replace(strings.Join(strings.Fields(text), " "))
}
