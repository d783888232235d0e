package render

import (
	"regexp"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// maxMeantNames is the number of names up to which a list within one entry is suggested.
const maxMeantNames = 10

// meantNodeNames guesses the entries of spec.nodeNames that were meant by one
// that no node name can match; it returns none where it cannot guess. It
// converts other notations, the most certain first, until the result is valid.
func meantNodeNames(entry string) []string {
	if len(entry) > 253 {
		return nil
	}
	meant := []string{entry}
	for _, mend := range []func(entry string) []string{
		splitEntry,
		compose(lowerCase.Replace, strings.ToLower, strings.TrimSpace),
		compose(upwards),
		compose(asPattern),
		compose(openEnded),
	} {
		var next []string
		for _, entry := range meant {
			next = append(next, mend(entry)...)
		}
		if meant = next; len(meant) > maxMeantNames {
			return nil
		}
		if !slices.ContainsFunc(meant, func(entry string) bool { return len(v1.ValidateNodeNamePattern(entry, nil)) > 0 }) {
			return meant
		}
	}
	return nil
}

// compose applies functions to an entry, the last one first.
func compose(functions ...func(string) string) func(string) []string {
	return func(entry string) []string {
		for _, function := range slices.Backward(functions) {
			entry = function(entry)
		}
		return []string{entry}
	}
}

// braces matches an alternative of a shell.
var braces = regexp.MustCompile(`^([^{}]*)\{([^{}]*)\}(.*)$`)

// alternatives are written in parentheses in a regular expression.
var alternatives = strings.NewReplacer("(?:", "{", "(", "{", ")", "}", "|", ",")

// splitEntry splits a list within one entry: gpu-{1,2}, gpu-(1|2) or gpu-1,
// gpu-2. A range {1..3} becomes the class [1-3].
func splitEntry(entry string) []string {
	entry = alternatives.Replace(entry)
	found := braces.FindStringSubmatch(entry)
	switch {
	case found == nil && !strings.ContainsAny(entry, "{["):
		return splitList(entry)
	case found == nil:
		return []string{entry}
	}
	before, inside, after := found[1], found[2], found[3]
	choices := splitList(inside)
	if from, to, isRange := strings.Cut(inside, ".."); isRange {
		if len(from) != 1 || len(to) != 1 {
			return []string{entry}
		}
		choices = []string{"[" + from + "-" + to + "]"}
	}
	var entries []string
	for _, choice := range choices {
		entries = append(entries, splitEntry(before+choice+after)...)
		if len(entries) > maxMeantNames {
			break
		}
	}
	return entries
}

func splitList(list string) []string {
	entries := strings.Split(list, ",")
	for i := range entries {
		entries[i] = strings.TrimSpace(entries[i])
	}
	return entries
}

// lowerCase replaces characters that no node name has with a dash.
var lowerCase = strings.NewReplacer(" ", "-", "_", "-")

// classes finds the classes of a pattern, and ranges what is in one.
var (
	classes = regexp.MustCompile(`\[[^]]*\]`)
	ranges  = regexp.MustCompile(`[a-z0-9]-[a-z0-9]`)
)

// upwards reverses descending ranges.
func upwards(entry string) string {
	return classes.ReplaceAllStringFunc(entry, func(class string) string {
		return ranges.ReplaceAllStringFunc(class, func(r string) string {
			return min(r[:1], r[2:]) + "-" + max(r[:1], r[2:])
		})
	})
}

// wildcards replaces regular expressions with the wildcards of a pattern.
var wildcards = strings.NewReplacer(".*", "*", ".+", "?*", `\d`, "[0-9]", `\.`, ".", "+", "*")

// asPattern converts a regular expression to a pattern.
func asPattern(entry string) string {
	return wildcards.Replace(strings.TrimSuffix(strings.TrimPrefix(entry, "^"), "$"))
}

// openEnded adds a wildcard to a name that begins or ends with a separator.
func openEnded(entry string) string {
	if strings.HasPrefix(entry, "-") || strings.HasPrefix(entry, ".") {
		entry = "*" + entry
	}
	if strings.HasSuffix(entry, "-") {
		entry += "*"
	}
	return strings.TrimSuffix(entry, ".")
}
