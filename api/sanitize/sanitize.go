// Package sanitize makes the text of others harmless to whatever it is printed on: a
// terminal, a log, the output of a CI job, a status, a pull request. Names, values
// and errors come in part from repositories, clusters and servers, and may be
// written to deceive.
//
// Start with [Line], for a text within a line, and [Text], for several lines.
// [JSON] and [YAML] do the same for whole documents, which stay valid and mean what
// they meant; [NewWriter] does it for all that is written to a stream. There is one
// set of rules, for all of them: [Hidden] decides which characters are written as
// escapes, and [Command] which texts a CI runner would execute.
// [Clip] and [ClipRunes] bound a text, before it is sanitized: an escape is longer than
// its character.
package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character is invisible, or changes how the text
// around it is shown: control characters, unusual spaces, letters and marks
// that are drawn as nothing, variation selectors. A line feed is one.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == blankBraille || r == nullNotehead
}

// Two characters that are blank although Unicode does not classify them so.
const (
	blankBraille = '\u2800'
	nullNotehead = '\U0001d159'
)

// maxMarks is how many combining marks a letter has in any language. More of
// them overlap the lines above and below.
const maxMarks = 4

// Plain reports whether a text is one line that [Line] does not change,
// commands to a CI runner aside.
func Plain(text string) bool { return escapeHidden(text, false) == text }

// Line returns a text in one line, with each hidden character as an escape of
// Go, and without commands to a CI runner. It is idempotent.
func Line(text string) string { return BreakCommands(escapeHidden(text, false)) }

// Text is like [Line], but keeps line feeds.
func Text(text string) string { return BreakCommands(escapeHidden(text, true)) }

// maxMessage bounds a message, in bytes.
const maxMessage = 8192

// Message is [Text] with a bounded length, for errors: these may repeat the whole response
// of a server.
func Message(text string) string { return Text(Clip(text, maxMessage)) }

// Quote returns a text as a quoted Go string.
func Quote(text string) string { return Line(strconv.Quote(text)) }

// escapeHidden writes hidden characters as escapes, and line feeds too unless lines
// are kept.
func escapeHidden(text string, lines bool) string {
	if plainASCII(text) {
		return text
	}
	var safe strings.Builder
	marks := 0 // in a row, on one letter
	for i, r := range text {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			safe.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case r == '\n' && lines, !Hidden(r) && marks <= maxMarks:
			safe.WriteRune(r)
		default:
			escaped := strconv.QuoteRuneToASCII(r)
			safe.WriteString(escaped[1 : len(escaped)-1])
		}
	}
	return safe.String()
}

func plainASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}
