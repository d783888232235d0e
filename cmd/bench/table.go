package main

import (
	"strings"

	"github.com/nodepools/nodepools/api/wrap"
)

// columns are those of the table, and where their cells come from. The table is as wide
// as a terminal, whatever it says.
var columns = []struct {
	wrap.Column
	of func(Figure) string
}{
	{wrap.Column{Width: 24}, func(f Figure) string { return f.Name }},
	{wrap.Column{Title: "measured", Width: 14, Right: true}, Figure.measured},
	{wrap.Column{Title: "  compared with", Width: 22}, func(f Figure) string { return indented(f.compared()) }},
	{wrap.Column{Title: "ratio", Width: 7, Right: true}, Figure.times},
	{wrap.Column{Title: "at most", Width: 9, Right: true}, func(f Figure) string { return f.bound() + " " + f.verdict() }},
}

// table is the report for a terminal, without colours: what is missed says so in a
// word.
func (r Report) table() string {
	var laidOut []wrap.Column
	for _, c := range columns {
		laidOut = append(laidOut, c.Column)
	}
	var rows [][]string
	for _, figures := range r.rows() {
		rows = append(rows, nil, []string{figures[0].Row})
		for _, f := range figures {
			var cells []string
			for _, c := range columns {
				cells = append(cells, c.of(f))
			}
			rows = append(rows, cells)
		}
	}
	var out strings.Builder
	paragraph := func(text string) { out.WriteString(strings.Join(wrap.Lines(text, wrap.Width), "\n") + "\n") }
	paragraph(r.size() + "; " + r.circumstances())
	out.WriteString("\n")
	wrap.Table(&out, laidOut, rows)
	out.WriteString("\n")
	paragraph(r.balance())
	return plainSpaces(out.String())
}

// indented sets apart a column that follows one with its text at the right.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}
