package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Masked replaces a secret.
const Masked = "***"

// maxText bounds how much of a value is searched, in bytes. The annotations of a node
// have 256 KiB; a longer value is taken for a secret.
const maxText = 1 << 20

// Secret reports whether the value of a name is a secret, or contains one. The name is
// the key of a label, annotation or taint, and may be empty.
func Secret(name, value string) bool {
	name, _, _ = strings.Cut(name, ":") // the effect of a taint
	switch {
	case none(name, value):
		return false
	case secretName(name) || len(value) > maxText:
		return true
	}
	lower := strings.ToLower(value)
	return slices.ContainsFunc(shapes(), func(s shape) bool { return s.in(value, lower) }) || len(assigned(value)) > 0
}

// Text returns a sentence without anything that looks like a credential. The
// rest of an address is kept.
func Text(text string) string {
	lower := strings.ToLower(text)
	for _, each := range shapes() {
		if !containsAny(lower, each.keywords) {
			continue
		}
		text = each.pattern.ReplaceAllStringFunc(text, func(found string) string {
			if each.holds != nil && !each.holds(each.pattern.FindStringSubmatch(found)) {
				return found
			}
			scheme, _, address := strings.Cut(found, "://")
			if address && strings.HasSuffix(found, "@") && !strings.ContainsAny(scheme, " \"'=") {
				return scheme + "://" + Masked + "@"
			}
			return Masked
		})
	}
	secrets := assigned(text)
	for i := len(secrets) - 1; i >= 0; i-- {
		text = text[:secrets[i][0]] + Masked + text[secrets[i][1]:]
	}
	return text
}

var (
	// assignment is a name in password: topsecret, token=abc or "apiKey":["abc"], with the
	// beginning of its value in the same line.
	assignment = compiled(`([A-Za-z0-9_./-]+)(?:[\\"']*[ \t]*(?::=|=>|:|=)[ \t\\"'\[{]*)(\$\{[A-Z0-9_]+\}|[^\s\\"',;}\]{\[][^\s\\"',;}\]]*)`)
	// option is one of a command line, with its value.
	option = compiled(`--?([A-Za-z][A-Za-z0-9_.-]*)[\\"', \t=]+([^\s\\"',\]=-][^\s\\"',\]]*)`)
)

// assigned returns where a text has the values of names of secrets, in their order.
func assigned(text string) (values [][2]int) {
	for _, pattern := range []func() *regexp.Regexp{assignment, option} {
		for at := 0; ; {
			found := pattern().FindStringSubmatchIndex(text[at:])
			if found == nil {
				break
			}
			name, value := text[at+found[2]:at+found[3]], text[at+found[4]:at+found[5]]
			if secretName(name) && !none(name, value) && !strings.HasPrefix(value, Masked) {
				values = append(values, [2]int{at + found[4], at + found[5]})
				at += found[5]
			} else {
				at += found[3] // the value may be a name, too
			}
		}
	}
	slices.SortFunc(values, func(a, b [2]int) int { return a[0] - b[0] })
	return slices.CompactFunc(values, func(a, b [2]int) bool { return b[0] < a[1] })
}
