package main

import (
	"strings"
	"unicode/utf8"
)

// columns is how wide the table is at most.
const columns = 80

// column of the table. Cells are broken between words where they are longer, so
// that the table is as wide as it is, whatever it says.
type column struct {
	title string
	width int
	right bool
	of    func(Figure) string
}

// tableColumns take columns with a space between two of them.
var tableColumns = []column{
	{"", 24, false, func(f Figure) string { return f.Name }},
	{"measured", 14, true, Figure.measured},
	{"  compared with", 22, false, func(f Figure) string { return indented(f.compared()) }},
	{"ratio", 7, true, Figure.times},
	{"at most", 9, true, func(f Figure) string { return f.bound() + " " + f.verdict() }},
}

// table is the report for a terminal, without colours: what is missed says so in a
// word.
func (r Report) table() string {
	var out strings.Builder
	line := func(text string) {
		out.WriteString(strings.TrimRight(strings.ReplaceAll(text, joined, " "), " ") + "\n")
	}
	for _, text := range wrap(r.size()+"; "+r.circumstances(), columns) {
		line(text)
	}
	line("")
	var titles []string
	for _, c := range tableColumns {
		titles = append(titles, c.title)
	}
	for _, text := range sideBySide(titles) {
		line(text)
	}
	for _, figures := range r.rows() {
		line("")
		for _, text := range wrap(figures[0].Row, columns) {
			line(text)
		}
		for _, f := range figures {
			var cells []string
			for _, c := range tableColumns {
				cells = append(cells, c.of(f))
			}
			for _, text := range sideBySide(cells) {
				line(text)
			}
		}
	}
	line("")
	for _, text := range wrap(r.balance(), columns) {
		line(text)
	}
	return out.String()
}

// sideBySide lays the cells of one figure side by side, in as many lines as the
// longest of them takes.
func sideBySide(cells []string) []string {
	var broken [][]string
	lines := 0
	for i, cell := range cells {
		broken = append(broken, wrapCell(cell, tableColumns[i].width))
		lines = max(lines, len(broken[i]))
	}
	all := make([]string, lines)
	for l := range all {
		for i, cell := range broken {
			text := ""
			if l < len(cell) {
				text = cell[l]
			}
			if i > 0 {
				all[l] += " "
			}
			all[l] += padded(text, tableColumns[i].width, tableColumns[i].right)
		}
	}
	return all
}

// wrapCell keeps the indentation of a cell on each of its lines.
func wrapCell(cell string, width int) []string {
	text := strings.TrimLeft(cell, " ")
	indent := cell[:len(cell)-len(text)]
	lines := wrap(text, width-len(indent))
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}

// indented sets apart a column that follows one with its text at the right.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}

func padded(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if right {
		return space + text
	}
	return text + space
}

// wrap breaks a text between words, and words that are longer than a line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' }) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		letters := []rune(word)
		for ; len(letters) > width; letters = letters[width:] {
			lines = append(lines, string(letters[:width]))
		}
		line = string(letters)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
