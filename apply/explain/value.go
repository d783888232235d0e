package explain

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// What a cluster holds may have been written to deceive: escape sequences that a
// terminal obeys, letters that turn the order of a line around, texts without
// end. What is printed of it passes through here.

// longestPool is how long the name of a pool may be, in characters.
const longestPool = 63

// shown is the value of a key as it stands in diff, cut to a number of
// characters, with its size where it was cut.
func shown(field plan.Field, text string, most int) string {
	if whole := quotedValue(field, text); len(text) <= most && utf8.RuneCountInString(whole) <= most {
		return whole
	}
	size := fmt.Sprintf(" (%s)", byteSize(len(text)))
	kept := []rune(sanitize.Begin(text, most))
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
	if strings.Contains(text, `"`) && !strings.Contains(text, "`") && sanitize.Line(text) == text {
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

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
