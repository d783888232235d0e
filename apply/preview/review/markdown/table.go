package markdown

import (
	"strings"

	"github.com/nodepools/nodepools/api/table"
)

// tableOf is a table of columns and rows. The cells are sanitized.
func tableOf(titles []string, rows [][]string) (s section) {
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
