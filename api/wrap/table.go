package wrap

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Column is a column of a table.
type Column struct {
	Title string
	// Width is in characters. Cells that are wider are broken into lines, by [Lines]. 0 is
	// the width of the widest cell, title included.
	Width int
	// Right aligns the cells at the right.
	Right bool
}

// Table writes the titles and the rows, with a space between two columns. A row without
// cells is an empty line; one with a single cell, in a table of several columns, is a
// heading, which may take the width of all of them.
func Table(w io.Writer, columns []Column, rows [][]string) {
	columns = fitted(columns, rows)
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	writeRow(w, columns, titles)
	for _, row := range rows {
		switch {
		case len(row) == 0:
			fmt.Fprintln(w)
		case len(row) == 1 && len(columns) > 1:
			for _, line := range Lines(row[0], total(columns)) {
				fmt.Fprintln(w, line)
			}
		default:
			writeRow(w, columns, row)
		}
	}
}

// fitted are the columns with the widths that follow from their cells.
func fitted(columns []Column, rows [][]string) []Column {
	fit := append([]Column(nil), columns...)
	for i := range fit {
		if fit[i].Width > 0 {
			continue
		}
		fit[i].Width = utf8.RuneCountInString(fit[i].Title)
		for _, row := range rows {
			if len(row) == len(fit) {
				fit[i].Width = max(fit[i].Width, utf8.RuneCountInString(row[i]))
			}
		}
	}
	return fit
}

func total(columns []Column) int {
	width := len(columns) - 1
	for _, c := range columns {
		width += c.Width
	}
	return width
}

// writeRow writes cells side by side, in as many lines as the longest of them takes.
func writeRow(w io.Writer, columns []Column, cells []string) {
	broken := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		broken[i] = Lines(cell, columns[i].Width)
		height = max(height, len(broken[i]))
	}
	for l := range height {
		var line strings.Builder
		for i, lines := range broken {
			text := ""
			if l < len(lines) {
				text = lines[l]
			}
			if i > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(pad(text, columns[i]))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func pad(text string, column Column) string {
	space := strings.Repeat(" ", max(0, column.Width-utf8.RuneCountInString(text)))
	if column.Right {
		return space + text
	}
	return text + space
}
