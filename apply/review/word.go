package review

import (
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/plan"
)

// plainWord is what names and keys look like that Kubernetes has checked.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.:/+@]*[A-Za-z0-9])?$`)

// longestKey is how long a key may be that Kubernetes takes, in bytes. Names are
// shorter; only a forged record has longer ones.
const longestKey = 253 + 1 + 63

// Word is a name or a key as it is, and quoted and bounded where it is none.
func Word(text string) string {
	if len(text) > longestKey {
		text = sanitize.Begin(text, longestKey) + "…"
	}
	if plainWord.MatchString(text) {
		return text
	}
	return quoted(text)
}

// Value is the value of a key. An annotation may hold anything at all, so it is
// quoted; the others hold letters, digits and little else.
func Value(field plan.Field, text string) string {
	if field == plan.Annotation || text == "" || quoted(text) != `"`+text+`"` {
		return quoted(text)
	}
	return text
}

// Written is a key with its value as kubectl label and kubectl taint take it.
func Written(field plan.Field, key, text string) string {
	if i := strings.LastIndex(key, ":"); field == plan.Taint && i >= 0 {
		if text == "" {
			return Word(key)
		}
		return Word(key[:i]) + "=" + Value(field, text) + ":" + Word(key[i+1:])
	}
	return Word(key) + "=" + Value(field, text)
}

// Visible is a text in one line, with what cannot be seen, or turns what is around
// it, as an escape.
func Visible(text string) string { return sanitize.Line(text) }

// quoted is a text in quotes, whole to the last character.
func quoted(text string) string { return sanitize.Quote(text) }
