// Package table writes rows in columns: [Text] for a terminal, and [Markdown] for
// what renders that. It sanitizes nothing: a cell is one line, and harmless to what the
// table is shown on.
package table

import (
	"strings"
	"unicode/utf8"
)

// Column is a column of a table.
type Column struct {
	Title string
	// Width is in characters. Cells of a text that are wider are broken into lines. 0 is the
	// width of the widest cell, title included. Markdown has a width of its own.
	Width int
	// Right aligns the cells at the right.
	Right bool
}

// pad fills a cell with spaces up to a width.
func (c Column) pad(cell string, width int) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
	if c.Right {
		return space + cell
	}
	return cell + space
}
