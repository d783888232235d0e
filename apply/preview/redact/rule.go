package redact

import (
	_ "embed" // the rules
	"regexp"
	"strings"
	"sync"
)

// The rules of a release of gitleaks, https://github.com/gitleaks/gitleaks, under the MIT licence beside them. Its module is not imported: it would
// bring 170 packages and 10 MB into the program, for a scanner of repositories.
//
//go:embed gitleaks/gitleaks.toml
var gitleaks string

// unused are rules that do not apply to a single value, or match too much:
// hashes and public keys would be masked.
var unused = map[string]bool{
	"generic-api-key":          true, // name.go matches names
	"sourcegraph-access-token": true, // any 40 hexadecimal digits
	"flutterwave-public-key":   true,
	"curl-auth-header":         true, // shape.go matches headers and users, in any text
	"curl-auth-user":           true,
}

// contextual is the beginning of a rule that requires the name of a provider
// before a value that could be any hash.
const contextual = `[\w.-]{0,50}?`

// rules are those that are used, in the order of the file.
var rules = sync.OnceValue(func() []shape {
	all, _ := parseRules(gitleaks)
	return all
})

// parseRules reads the subset of TOML in which the rules are written. Rules
// that cannot be used are left out; all is the number of all rules.
func parseRules(text string) (used []shape, all int) {
	for _, part := range strings.Split(text, "[[rules]]\n")[1:] {
		all++
		part, _, _ = strings.Cut(part, "[[rules.allowlists]]")
		id, pattern := quotedIn(part, `id = "`, `"`), quotedIn(part, "regex = '''", "'''")
		if pattern == "" || unused[id] || strings.HasPrefix(strings.TrimPrefix(pattern, "(?i)"), contextual) || quotedIn(part, "path = '''", "'''") != "" {
			continue
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			continue
		}
		var keywords []string
		list := quotedIn(part, "keywords = [", "]")
		for i, item := range strings.Split(list, `"`) {
			if i%2 == 1 {
				keywords = append(keywords, item)
			}
		}
		used = append(used, shape{keywords: keywords, pattern: compiled})
	}
	return used, all
}

func quotedIn(text, begin, end string) string {
	_, rest, found := strings.Cut("\n"+text, "\n"+begin)
	if !found {
		return ""
	}
	inside, _, _ := strings.Cut(rest, end)
	return inside
}

// matches returns the secrets of this shape in a text, which is also given in
// lower case: each as a whole, with its parts. Unless all is set, it returns
// the first.
func (s *shape) matches(text, lower string, all bool) (found [][]string) {
	if !containsAny(lower, s.keywords) {
		return nil
	}
	if !all && s.holds == nil {
		if at := s.pattern.FindStringIndex(text); at != nil {
			return [][]string{{text[at[0]:at[1]]}}
		}
		return nil
	}
	for _, match := range s.pattern.FindAllStringSubmatch(text, maxFound) {
		if s.holds == nil || s.holds(match) {
			found = append(found, match)
		}
	}
	return found
}

func containsAny(text string, keywords []string) bool {
	for _, keyword := range keywords {
		if strings.Contains(text, keyword) {
			return true
		}
	}
	return len(keywords) == 0
}
