package sanitize

import (
	"unicode"
	"unicode/utf8"
)

// ellipsis is what a truncated text ends with.
const ellipsis = "…"

// Clip truncates a text to at most so many bytes, for what is stored or sent. A
// truncated text ends with an ellipsis, whose three bytes count. Where the limit is
// less than that, the ellipsis is all that is left.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Begin(text, most-len(ellipsis)) + ellipsis
}

// ClipRunes truncates a text to at most so many characters, for what people read. A
// truncated text ends with an ellipsis, which is one of them.
func ClipRunes(text string, most int) string {
	if BeginRunes(text, most) == text {
		return text
	}
	return BeginRunes(text, most-1) + ellipsis
}

// Begin returns the beginning of a text, of at most so many bytes. It ends between two
// characters, and not between a letter and its combining marks.
func Begin(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most = max(most, 0)
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:beforeMarks(text, most)]
}

// BeginRunes is like [Begin], and counts characters instead of bytes.
func BeginRunes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for i := range text {
		if most <= 0 {
			return text[:beforeMarks(text, i)]
		}
		most--
	}
	return text
}

// beforeMarks returns where a text may be cut, at or before a place between two
// characters: before the letter whose marks follow there. Marks that [Line] writes as
// escapes belong to no letter, so a text of nothing but marks is cut, too.
func beforeMarks(text string, at int) int {
	start := at
	for range maxMarks + 1 {
		if next, _ := utf8.DecodeRuneInString(text[start:]); !unicode.Is(unicode.M, next) {
			return start
		}
		if start == 0 {
			return at
		}
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	return at
}
