package table

import (
	"strings"
	"unicode/utf8"
)

const (
	// widest is the width up to which cells are padded, for readers of the source.
	widest = 48
	// narrowest is what the rule below a title takes.
	narrowest = 3
)

// Markdown returns the head of a table, which is two lines, and the line of each row. A
// row may have fewer cells than there are columns. In a cell a | has to be escaped.
func Markdown(columns []Column, rows [][]string) (head string, lines []string) {
	titles, rule := make([]string, len(columns)), make([]string, len(columns))
	widths := make([]int, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
		widths[i] = max(narrowest, min(widest, utf8.RuneCountInString(c.Title)))
		for _, row := range rows {
			if i < len(row) {
				widths[i] = max(widths[i], min(widest, utf8.RuneCountInString(row[i])))
			}
		}
		rule[i] = strings.Repeat("-", widths[i])
		if c.Right {
			rule[i] = rule[i][1:] + ":"
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		b.WriteString("|")
		for i, c := range columns {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			b.WriteString(" " + c.pad(cell, widths[i]) + " |")
		}
		return b.String()
	}
	for _, row := range rows {
		lines = append(lines, line(row))
	}
	return line(titles) + "\n" + line(rule), lines
}
