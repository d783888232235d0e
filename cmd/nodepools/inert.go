package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
)

// What a cluster holds may have been written to deceive: escape sequences that a
// terminal obeys, letters that turn the order of a line around, texts without
// end. What is printed of it passes through here.

// longestPool is how long the name of a pool may be, in characters.
const longestPool = 63

// inert is a sentence without what a terminal would obey.
func inert(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text)
}

// shown is the value of a key as it stands in diff, cut to a number of
// characters, with its size where it was cut.
func shown(field plan.Field, text string, most int) string {
	if whole := quotedValue(field, text); len(text) <= most && utf8.RuneCountInString(whole) <= most {
		return whole
	}
	size := fmt.Sprintf(" (%s)", byteSize(len(text)))
	kept := []rune(clipBytes(text, most))
	for {
		cut := quotedValue(plan.Annotation, string(kept)+"…") + size
		over := utf8.RuneCountInString(cut) - most
		if over <= 0 || len(kept) == 0 {
			return cut
		}
		kept = kept[:len(kept)-max(over/10, 1)] // an escape has up to ten characters
	}
}

// quotedValue is a value as diff has it; one with quotation marks in it, such as
// JSON, is easier to read without a backslash before each.
func quotedValue(field plan.Field, text string) string {
	if strings.Contains(text, `"`) && !strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsGraphic(r) || r == utf8.RuneError }) {
		return "`" + text + "`"
	}
	return review.Value(field, text)
}

func byteSize(n int) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d KiB", n/1024)
}

// clipBytes is the beginning of a text, ended between two characters.
func clipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// escapeInvisible writes what cannot be seen, and is no end of a line, as an
// escape. In JSON and in the YAML of [render.WriteYAML] such a character stands
// nowhere but in double quotes; in text it should not stand at all. The same goes
// for ##[, which a CI runner obeys wherever it stands in a line of a log.
func escapeInvisible(text string, escape func(rune) string) string {
	text = strings.ReplaceAll(text, "##[", escape('#')+"#[")
	if !strings.ContainsFunc(text, invisible) {
		return text
	}
	var escaped strings.Builder
	for _, r := range text {
		if invisible(r) {
			escaped.WriteString(escape(r))
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.String()
}

func invisible(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }

func escapeYAML(r rune) string { return fmt.Sprintf(`\U%08X`, r) }

func escapeJSON(r rune) string {
	if r <= 0xFFFF {
		return fmt.Sprintf(`\u%04x`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Sprintf(`\u%04x\u%04x`, high, low)
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
