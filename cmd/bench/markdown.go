package main

import (
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/api/table"
	"github.com/nodepools/nodepools/api/wrap"
)

// section is the report for the page: the chart, by a path relative to the page, the
// table, and what is missed.
func (r Report) section() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n![%s](../%s)\n\n", cell(description(r.panels())), chartFile)
	for _, line := range wrap.Lines(cell(r.size()+"; "+r.circumstances()+". "+r.balance()), wrap.Width) {
		out.WriteString(line + "\n")
	}
	head, lines := table.Markdown(columnsOfPage, r.cells())
	out.WriteString("\n" + head + "\n" + strings.Join(lines, "\n") + "\n\n")
	return out.String()
}

var columnsOfPage = []table.Column{
	{}, {Title: "measured", Right: true}, {Title: "compared with"}, {Title: "ratio", Right: true}, {Title: "at most", Right: true},
}

// cells are the rows of the table on the page.
func (r Report) cells() [][]string {
	var rows [][]string
	for _, figures := range r.rows() {
		rows = append(rows, []string{"**" + cell(figures[0].Row) + "**"})
		for _, f := range figures {
			rows = append(rows, []string{cell(f.Name), cell(f.measured()), cell(f.compared()), cell(f.times()), cell(f.judged())})
		}
	}
	return rows
}

// cell is text that is text in Markdown, too, and in one line.
func cell(text string) string {
	text = strings.Join(strings.Fields(plainSpaces(text)), " ")
	return markdownText.Replace(text)
}

var markdownText = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
)
