package v1

import (
	"regexp"
	"unicode/utf8"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A pattern of spec.nodeNames is one of package path. The schema repeats the two
// rules below, see the markers of [NodePoolSpec], and they refuse what no node name
// can match: node names are DNS subdomains. They refuse nothing that some node name
// matches, but for classes with an unescaped [ or ^ in their middle.

// nodeNamePattern is the form of a pattern: wildcards, letters, digits and classes,
// with dashes or one dot between any two of them. All but dashes and dots can stand
// for a letter or digit, so that what has this form matches some name, as long as no
// class is dead.
var nodeNamePattern = regexp.MustCompile(`^([*?]|\\?[a-z0-9]|\[\^?(([^]\[\\^/-]|\\[^]\[/])(-([^]\[\\^/-]|\\[^]\[/]))?)+\])((\\?[.]|(\\?-)*)([*?]|\\?[a-z0-9]|\[\^?(([^]\[\\^/-]|\\[^]\[/])(-([^]\[\\^/-]|\\[^]\[/]))?)+\]))*$`)

// deadClass is a class that stands for no character of a node name: one of other
// characters, and of ranges that go downwards or from one capital letter to another.
var deadClass = regexp.MustCompile(`\[([^]\[\\^.a-z0-9-]|[A-Za-z]-[0-9A-Z]|1-0|2-[01]|3-[0-2]|4-[0-3]|5-[0-4]|6-[0-5]|7-[0-6]|8-[0-7]|9-[0-8]|b-a|c-[ab]|d-[a-c]|e-[a-d]|f-[a-e]|g-[a-f]|h-[a-g]|i-[a-h]|j-[a-i]|k-[a-j]|l-[a-k]|m-[a-l]|n-[a-m]|o-[a-n]|p-[a-o]|q-[a-p]|r-[a-q]|s-[a-r]|t-[a-s]|u-[a-t]|v-[a-u]|w-[a-v]|x-[a-w]|y-[a-x]|z-[a-y])+\]`)

// ValidateNodeNamePattern returns why an entry of spec.nodeNames can match no node.
func ValidateNodeNamePattern(pattern string, at *field.Path) field.ErrorList {
	if pattern == "" {
		return field.ErrorList{field.Required(at, "must be a node name or a pattern of one")}
	}
	var problems field.ErrorList
	if utf8.RuneCountInString(pattern) > utilvalidation.DNS1123SubdomainMaxLength {
		problems = append(problems, field.TooLongMaxLength(at, pattern, utilvalidation.DNS1123SubdomainMaxLength))
	}
	if !nodeNamePattern.MatchString(pattern) {
		problems = append(problems, field.Invalid(at, pattern, "must be a node name or a pattern of one: lower case letters, digits, '-' and '.', with a letter or digit at both ends and on both sides of each '.'; * stands for any characters, ? for one, [a-z] for one of a range"))
	}
	if deadClass.MatchString(pattern) {
		problems = append(problems, field.Invalid(at, pattern, "what is in [ ] must stand for a character that a node name may have: a range goes upwards, as in [1-3], and there are no capital letters"))
	}
	return problems
}
