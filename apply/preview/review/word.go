package review

import (
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/plan"
)

// plainWord matches names and keys that Kubernetes has validated.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.:/+@]*[A-Za-z0-9])?$`)

// longestKey is how long a valid key may be, in bytes. Names are shorter; only
// a forged record has longer ones.
const longestKey = 253 + 1 + 63

// Word returns a valid name or key as it is, and any other text quoted and bounded.
func Word(text string) string {
	if len(text) > longestKey {
		text = sanitize.Begin(text, longestKey) + "…"
	}
	if plainWord.MatchString(text) {
		return text
	}
	return quoted(text)
}

// Value returns the value of a key. An annotation may have any value, so it is
// quoted; labels and taints have letters, digits and few other characters.
func Value(field plan.Field, text string) string {
	if field == plan.Annotation || text == "" || quoted(text) != `"`+text+`"` {
		return quoted(text)
	}
	return text
}

// Written returns a key with its value as kubectl label and kubectl taint accept it.
func Written(field plan.Field, key, text string) string {
	if i := strings.LastIndex(key, ":"); field == plan.Taint && i >= 0 {
		if text == "" {
			return Word(key)
		}
		return Word(key[:i]) + "=" + Value(field, text) + ":" + Word(key[i+1:])
	}
	return Word(key) + "=" + Value(field, text)
}

// Visible returns a text in one line, with invisible and direction-changing
// characters as escapes.
func Visible(text string) string { return sanitize.Line(text) }

// quoted returns a text in quotes, without a limit.
func quoted(text string) string { return sanitize.Quote(text) }
