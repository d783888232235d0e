package apply

import (
	"strings"
	"unicode"
)

// maxBrief bounds the text of Brief, in characters.
const maxBrief = 256

// Brief is an error as it may stand in a status or an event: one line of bounded
// length, without what is not seen or turns what is around it. An error of the API
// server is in part what others say to it: an admission webhook for one.
func Brief(err error) string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, err.Error())
	if runes := []rune(text); len(runes) > maxBrief {
		text = string(runes[:maxBrief-1]) + "…"
	}
	return text
}
