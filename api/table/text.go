package table

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/wrap"
)

// Text is a table of text, for a font in which all characters are equally wide.
type Text struct {
	Columns []Column
	// Indent stands before each line.
	Indent string
	// Gap stands between two columns; a space where it is empty.
	Gap string
}

// Write writes the titles, where there are any, and the rows. A row without cells is an
// empty line. Where one has fewer cells than there are columns, the last takes the width
// of all that are left: so a single cell is a heading.
func (t Text) Write(w io.Writer, rows [][]string) {
	titles, lines := t.Lines(rows)
	for _, row := range append([][]string{titles}, lines...) {
		for _, line := range row {
			fmt.Fprintln(w, line)
		}
	}
}

// Lines returns what [Text.Write] writes: the lines of the titles, and those of each row.
func (t Text) Lines(rows [][]string) (titles []string, lines [][]string) {
	t.Columns = t.fitted(rows)
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Title != "" }) {
		var cells []string
		for _, c := range t.Columns {
			cells = append(cells, c.Title)
		}
		titles = t.row(cells)
	}
	for _, row := range rows {
		lines = append(lines, t.row(row))
	}
	return titles, lines
}

func (t Text) gap() string { return cmp.Or(t.Gap, " ") }

// fitted are the columns with the widths that follow from their cells.
func (t Text) fitted(rows [][]string) []Column {
	fit := slices.Clone(t.Columns)
	for i := range fit {
		if fit[i].Width > 0 {
			continue
		}
		fit[i].Width = utf8.RuneCountInString(fit[i].Title)
		for _, row := range rows {
			if i < len(row)-1 || len(row) == len(fit) {
				fit[i].Width = max(fit[i].Width, utf8.RuneCountInString(row[i]))
			}
		}
	}
	return fit
}

// of are the columns of a row with so many cells.
func (t Text) of(cells int) []Column {
	columns := slices.Clone(t.Columns[:cells])
	if cells == 0 || cells == len(t.Columns) {
		return columns
	}
	last := &columns[cells-1]
	last.Right = false
	for _, c := range t.Columns[cells:] {
		last.Width += utf8.RuneCountInString(t.gap()) + c.Width
	}
	return columns
}

// row writes cells side by side, in as many lines as the longest of them takes.
func (t Text) row(cells []string) []string {
	columns := t.of(len(cells))
	broken := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		broken[i] = []string{cell}
		if utf8.RuneCountInString(cell) > columns[i].Width {
			broken[i] = wrap.Lines(cell, columns[i].Width)
		}
		height = max(height, len(broken[i]))
	}
	lines := make([]string, height)
	for l := range lines {
		padded := make([]string, len(cells))
		for i := range cells {
			text := ""
			if l < len(broken[i]) {
				text = broken[i][l]
			}
			padded[i] = columns[i].pad(text, columns[i].Width)
		}
		lines[l] = strings.TrimRight(t.Indent+strings.Join(padded, t.gap()), " ")
	}
	return lines
}
