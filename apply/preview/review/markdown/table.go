package markdown

import (
	"strings"
	"unicode/utf8"
)

// widest is the width up to which a column is padded with spaces, for readers
// of the source.
const widest = 48

// with makes the section a table of columns and rows. The cells are sanitized.
func (s section) with(columns []string, rows [][]string) section {
	if len(rows) == 0 {
		return s
	}
	widths := make([]int, len(columns))
	for _, row := range append(rows, columns) {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", `\x7c`)
			widths[i] = max(widths[i], min(widest, utf8.RuneCountInString(row[i])), 3)
		}
	}
	rule := make([]string, len(columns))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	s.table = tableRow(columns, widths) + "\n" + tableRow(rule, widths)
	for _, row := range rows {
		s.rows = append(s.rows, tableRow(row, widths))
	}
	return s
}

func tableRow(cells []string, widths []int) string {
	var b strings.Builder
	b.WriteString("|")
	for i, cell := range cells {
		b.WriteString(" " + cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))) + " |")
	}
	return b.String()
}
