package apply

import (
	"strings"
	"unicode"
)

// maxBrief bounds the text of Brief, in characters.
const maxBrief = 256

// Brief is an error as it may stand in a status or an event: one line, without
// control characters, of bounded length.
func Brief(err error) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, err.Error())
	if runes := []rune(text); len(runes) > maxBrief {
		text = string(runes[:maxBrief-1]) + "…"
	}
	return text
}
