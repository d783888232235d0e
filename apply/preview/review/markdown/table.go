package markdown

import (
	"strings"

	"github.com/nodepools/nodepools/api/table"
)

// with makes the section a table of columns and rows. The cells are sanitized.
func (s section) with(titles []string, rows [][]string) section {
	if len(rows) == 0 {
		return s
	}
	columns := make([]table.Column, len(titles))
	for i, title := range titles {
		columns[i].Title = title
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", `\x7c`)
		}
	}
	s.table, s.rows = table.Markdown(columns, rows)
	return s
}
