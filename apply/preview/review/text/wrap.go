package text

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// compactNames matches the result of review.Compact for valid names.
var compactNames = regexp.MustCompile(`^[A-Za-z0-9]*[-A-Za-z0-9_.]*\[[0-9,-]+\][-A-Za-z0-9_.]*$`)

// wrapped breaks words into lines; the first line and the others have their own
// prefix. A word is not split, except for a long list of numbers.
func wrapped(first, others string, words []string) string {
	words = parted(words)
	for i, word := range words {
		words[i] = clipped(strings.TrimRight(word, " "))
	}
	var text strings.Builder
	wrap.Hang(&text, first, others, words)
	return text.String()
}

// parted keeps words that fit into a line, and splits longer ones after a comma.
func parted(words []string) []string {
	var all []string
	for _, word := range words {
		for len(word) > wrap.Width-8 {
			cut := strings.LastIndex(word[:wrap.Width-8], ",") + 1
			if cut == 0 {
				break
			}
			all = append(all, word[:cut])
			word = strings.TrimLeft(word[cut:], " ")
		}
		all = append(all, word)
	}
	return all
}

// maxLine bounds lines that are not ours to break, in characters.
const maxLine = 1000

// clipped truncates a line for a terminal. The JSON document has the whole of it.
func clipped(line string) string {
	shown := sanitize.BeginRunes(line, maxLine)
	if more := len(line) - len(shown); more > 0 {
		return fmt.Sprintf("%s… and %d bytes more", shown, more)
	}
	return line
}

// list writes words as the items of a list.
func (t *writer) list(indent string, items []string) {
	if len(items) > 0 {
		fmt.Fprint(t, wrapped(indent, indent+"  ", items))
	}
}

// painter marks texts by ANSI colours; a false one does not change them.
type painter bool

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	alarm  = "1;31"
)

func (p painter) bold(text string) string  { return p.paint(bold, text) }
func (p painter) alarm(text string) string { return p.paint(alarm, text) }

// signed colours a line by its sign.
func (p painter) signed(sign rune, text string) string {
	switch sign {
	case review.Added:
		return p.paint(green, text)
	case review.Removed:
		return p.paint(red, text)
	case review.Changed:
		return p.paint(yellow, text)
	}
	return text
}

func (p painter) paint(color, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
