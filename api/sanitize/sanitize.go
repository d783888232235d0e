// Package sanitize makes the text of others harmless to whatever it is printed on: a
// terminal, a log, the output of a CI job, a status, a pull request. Names, values
// and errors come in part from repositories, clusters and servers, and may be
// written to deceive.
//
// Start with [Line], for a text within a line, and [Text], for one of several lines.
// [JSON] and [YAML] do the same for whole documents, which stay valid and mean what
// they meant; [NewWriter] does it for all that is written to a stream. There is one
// set of rules, for all of them: [Hidden] has the characters that are written as
// escapes, and [Command] finds what a CI runner would obey.
package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character is not seen, or changes what is around it: what
// is not printed, a space of another kind, a letter or mark that is drawn as
// nothing, a selector of variants. A line feed is one.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == blankBraille || r == nullNotehead
}

// Two signs that are blank without being marked as such in Unicode.
const (
	blankBraille = '\u2800'
	nullNotehead = '\U0001d159'
)

// maxMarks is how many marks a letter has in any language. More of them paint over
// what stands above and below.
const maxMarks = 4

// Plain reports whether a text is one line that [Line] leaves as it is, but for what
// a CI runner would obey.
func Plain(text string) bool { return escapeHidden(text, false) == text }

// Line is a text in one line, with each hidden character as an escape of Go, and
// without commands to a CI runner. A line that is sanitized already stays as it is.
func Line(text string) string { return BreakCommands(escapeHidden(text, false)) }

// Text is a text in its lines, otherwise like [Line].
func Text(text string) string { return BreakCommands(escapeHidden(text, true)) }

// maxMessage bounds a message, in bytes.
const maxMessage = 8192

// Message is a [Text] of bounded length: an error, which may repeat all that a server
// said.
func Message(text string) string { return Text(Clip(text, maxMessage)) }

// Quote is a text in quotes, as Go writes it in a program.
func Quote(text string) string { return Line(strconv.Quote(text)) }

// escapeHidden writes hidden characters as escapes, and line feeds too unless lines
// are kept.
func escapeHidden(text string, lines bool) string {
	if plainASCII(text) {
		return text
	}
	var safe strings.Builder
	marks := 0 // in a row, above and below one letter
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

// Clip is a text of at most so many bytes, cut between two characters. What is cut
// ends with an ellipsis, which counts.
func Clip(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	return Begin(text, most-len(ellipsis)) + ellipsis
}

// Begin is the beginning of a text, of at most so many bytes, cut between two
// characters.
func Begin(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most = max(most, 0)
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
