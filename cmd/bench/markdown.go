package main

import (
	"fmt"
	"strings"

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
	out.WriteString("\n| | measured | compared with | ratio | at most |\n|---|--:|---|--:|--:|\n")
	for _, figures := range r.rows() {
		fmt.Fprintf(&out, "| **%s** | | | | |\n", cell(figures[0].Row))
		for _, f := range figures {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", cell(f.Name), cell(f.measured()), cell(f.compared()),
				cell(f.times()), cell(strings.TrimSpace(f.bound()+" "+f.verdict())))
		}
	}
	out.WriteString("\n")
	return out.String()
}

// cell is text that is text in Markdown, too, and in one line.
func cell(text string) string {
	text = strings.Join(strings.Fields(plainSpaces(text)), " ")
	return markdownText.Replace(text)
}

var markdownText = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
)
