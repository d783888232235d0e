package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// inWords translates an error of validation to a message and a hint, without
// the path of the field. A field that is written and has no value is empty, and
// not missing.
func inWords(err *field.Error, written bool) (message, hint string) {
	detail := withoutRegexp(err.Detail)
	absent := "is missing: "
	switch {
	case strings.HasSuffix(err.Field, "[]"):
		absent = "the key is empty: "
	case written:
		absent = "is empty: "
	}
	switch err.Type {
	case field.ErrorTypeRequired:
		return absent + detail, ""
	case field.ErrorTypeInvalid:
		value := fmt.Sprint(err.BadValue)
		if strings.HasPrefix(err.Field, "spec.nodeNames[") {
			hint = didYouMean(meantNodeNames(value)...)
		}
		return quoted(value) + " is not valid: " + detail, hint
	case field.ErrorTypeNotSupported:
		value := fmt.Sprint(err.BadValue)
		supported := quotedWords(detail)
		if value == "" {
			return absent + "must be " + either(supported), ""
		}
		near := Nearest(value, supported)
		if near == "" && strings.HasSuffix(err.Field, ".operator") {
			near = meantOperator(value)
		}
		if near != "" {
			hint = didYouMean(near)
		}
		return quoted(value) + " is not known: must be " + either(supported), hint
	case field.ErrorTypeDuplicate:
		return quoted(fmt.Sprint(err.BadValue)) + " appears twice", "keep one of the two"
	case field.ErrorTypeTooLong:
		return "is too long: " + detail, ""
	case field.ErrorTypeTooMany:
		return "has too many entries: " + detail, ""
	default:
		return detail, ""
	}
}

// withoutRegexp removes the regular expression from an error, which is of no
// use to people.
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

// didYouMean returns the hint that one or several words were meant; empty for none.
func didYouMean(words ...string) string {
	if len(words) == 0 {
		return ""
	}
	quotes := make([]string, len(words))
	for i, word := range words {
		quotes[i] = quoted(word)
	}
	last := len(quotes) - 1
	if last == 0 {
		return "did you mean " + quotes[0] + "?"
	}
	return "did you mean " + strings.Join(quotes[:last], ", ") + " and " + quotes[last] + "?"
}
