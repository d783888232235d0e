package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// inWords says what validation found as one would say it to a colleague. The
// path of the field is not part of it.
func inWords(err *field.Error) (message, hint string) {
	detail := withoutRegexp(err.Detail)
	switch err.Type {
	case field.ErrorTypeInvalid:
		return quoted(fmt.Sprint(err.BadValue)) + " is not valid: " + detail, ""
	case field.ErrorTypeNotSupported:
		value := fmt.Sprint(err.BadValue)
		supported := quotedWords(detail)
		if near := Nearest(value, supported); near != "" {
			hint = "did you mean " + quoted(near) + "?"
		}
		if value == "" {
			return "is missing: must be " + either(supported), hint
		}
		return quoted(value) + " is not known: must be " + either(supported), hint
	case field.ErrorTypeDuplicate:
		return quoted(fmt.Sprint(err.BadValue)) + " stands there twice", "keep one of the two"
	case field.ErrorTypeTooLong:
		return "is too long: " + detail, ""
	case field.ErrorTypeTooMany:
		return "has too many entries: " + detail, ""
	default:
		return detail, ""
	}
}

// withoutRegexp cuts out what only a program reads.
func withoutRegexp(detail string) string {
	before, after, found := strings.Cut(detail, "regex used for validation is '")
	if !found {
		return detail
	}
	_, after, _ = strings.Cut(after, "')")
	before = strings.TrimRight(before, ", ")
	if strings.HasSuffix(before, "(") {
		return strings.TrimRight(before, " (") + after
	}
	return strings.ReplaceAll(before, ",  or", " or") + ")" + after
}

// quotedWords returns the words in quotes of: supported values: "A", "B".
func quotedWords(text string) []string {
	var words []string
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		}
	}
	return words
}

func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
