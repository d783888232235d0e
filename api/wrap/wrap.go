// Package wrap lays text out in lines that fit a terminal. Start with [Text] for
// sentences, [Paragraphs] for a longer text, and with [Hang] where some words must not be broken.
package wrap

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the width of a terminal that everybody has, in characters.
const Width = 80

// Text writes a text in lines of at most [Width] characters, the second and later
// ones indented a little more. Line breaks in the text are kept.
func Text(w io.Writer, indent, text string) {
	for line := range strings.Lines(text) {
		Hang(w, indent, indent+"  ", strings.Fields(line))
	}
}

// Paragraphs returns a text whose paragraphs, which an empty line parts, are broken anew
// into lines of at most [Width] characters. One with a line that is indented is a list or
// a command, and stays as it is.
func Paragraphs(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			continue
		}
		var filled strings.Builder
		Hang(&filled, "", "", strings.Fields(paragraph))
		paragraphs[i] = strings.TrimSuffix(filled.String(), "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// Hang writes words in lines of at most [Width] characters, where no single word is
// longer. The first line and all others have prefixes of their own. A word is kept on
// one line, and may hold spaces.
func Hang(w io.Writer, first, others string, words []string) {
	line := first
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width:
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = others + strings.TrimLeft(word, " ")
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// List returns the words of a list: each item but the last is followed by a comma.
func List(items []string) []string {
	words := make([]string, len(items))
	for i, item := range items {
		if words[i] = item; i < len(items)-1 {
			words[i] += ","
		}
	}
	return words
}
