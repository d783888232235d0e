package wrap

import (
	"strings"
	"unicode/utf8"
)

// Lines breaks a text between words into lines of at most width characters, and words
// that are longer than a line. Only a plain space is between words, so one that does not
// break keeps its neighbours on a line. An indentation of the text is that of each line.
func Lines(text string, width int) []string {
	words := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(words)]
	width = max(1, width-len(indent))
	var lines []string
	line := ""
	end := func() {
		if line != "" {
			lines = append(lines, indent+line)
		}
		line = ""
	}
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return r == ' ' }) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		end()
		rest := []rune(word)
		for ; len(rest) > width; rest = rest[width:] {
			lines = append(lines, indent+string(rest[:width]))
		}
		line = string(rest)
	}
	end()
	return lines
}
