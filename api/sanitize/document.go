package sanitize

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON returns a JSON document with hidden characters as escapes, and without
// commands to a CI runner. Both occur only within strings, so its meaning does
// not change.
func JSON(document string) string {
	return escapeDocument(document, func(r rune) string {
		if r <= 0xffff {
			return fmt.Sprintf(`\u%04x`, r)
		}
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	})
}

// YAML does the same for a YAML document in which every text with a hidden
// character or a command is in double quotes: see [NeedsQuotes].
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

// NeedsQuotes reports whether a text must be double-quoted in a YAML document,
// so that [YAML] can escape its characters.
func NeedsQuotes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && Hidden(r) }) || Command(text)
}
