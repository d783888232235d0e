package main

import (
	"strings"

	"github.com/nodepools/nodepools/api/table"
	"github.com/nodepools/nodepools/api/wrap"
)

// columns are those of the table, and where their cells come from. The table is as wide
// as a terminal, whatever it says.
var columns = []struct {
	table.Column
	of func(Figure) string
}{
	{table.Column{Width: 24}, func(f Figure) string { return f.Name }},
	{table.Column{Title: "measured", Width: 14, Right: true}, Figure.measured},
	{table.Column{Title: "  compared with", Width: 22}, func(f Figure) string { return indented(f.compared()) }},
	{table.Column{Title: "ratio", Width: 7, Right: true}, Figure.times},
	{table.Column{Title: "at most", Width: 9, Right: true}, Figure.judged},
}

// table is the report for a terminal, without colours: what is missed says so in a
// word.
func (r Report) table() string {
	var laidOut []table.Column
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
	table.Text{Columns: laidOut}.Write(&out, rows)
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
