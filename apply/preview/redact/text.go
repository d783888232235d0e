package redact

import (
	"slices"
	"strings"
)

// Masked replaces a secret.
const Masked = "***"

// Text returns a sentence without anything that looks like a credential. The
// rest of an address is kept.
func Text(text string) string {
	lower := strings.ToLower(text)
	for _, group := range [][]shape{shapes(), rules()} {
		for _, each := range group {
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
	}
	s := &search{all: true}
	if !s.assigned(text) {
		s.flagged(text)
	}
	slices.SortFunc(s.found, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range s.found {
		if secret = strings.TrimSpace(secret); secret != "" {
			text = strings.ReplaceAll(text, secret, Masked)
		}
	}
	return text
}
