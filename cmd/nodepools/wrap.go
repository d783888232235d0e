package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// textWidth is the width of a terminal that everybody has.
const textWidth = 80

// wrap writes a text in lines that fit a terminal, the second and later ones
// indented a little more. What stands in it on lines of its own stays so.
func wrap(w io.Writer, indent, text string) {
	for line := range strings.Lines(text) {
		wrapWords(w, indent, strings.Fields(line))
	}
}

// wrapWords keeps each word, which may hold spaces, on one line.
func wrapWords(w io.Writer, indent string, words []string) {
	hangWords(w, indent, indent+"  ", words)
}

// hangWords begins the first line and all others in ways of their own.
func hangWords(w io.Writer, first, others string, words []string) {
	line := first
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth:
			fmt.Fprintln(w, line)
			line = others + strings.TrimLeft(word, " ")
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(w, line)
}

// listed makes the words of a list.
func listed(items []string) []string {
	words := make([]string, len(items))
	for i, item := range items {
		if words[i] = item; i < len(items)-1 {
			words[i] += ","
		}
	}
	return words
}
