package sanitize

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON is a JSON document with hidden characters as escapes, and without commands to
// a CI runner. Both can stand in its texts alone, so it means what it meant.
func JSON(document string) string {
	return escapeDocument(document, func(r rune) string {
		if r <= 0xffff {
			return fmt.Sprintf(`\u%04x`, r)
		}
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	})
}

// YAML is the same for a YAML document in which every text that has a hidden
// character or a command in it stands in double quotes.
func YAML(document string) string {
	return escapeDocument(document, func(r rune) string {
		if r <= 0xffff {
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}

func escapeDocument(document string, escape func(rune) string) string {
	document = breakAnywhere(document)
	hidden := func(r rune) bool { return r != '\n' && Hidden(r) }
	if !strings.ContainsFunc(document, hidden) {
		return document
	}
	var safe strings.Builder
	for _, r := range document {
		if hidden(r) {
			safe.WriteString(escape(r))
		} else {
			safe.WriteRune(r)
		}
	}
	return safe.String()
}

// NeedsQuotes reports whether a text has to stand in double quotes in a YAML
// document, so that [YAML] can escape what is in it.
func NeedsQuotes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && Hidden(r) }) || Command(text)
}
