package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// The release of gitleaks that the rules are of, and what is in them. To update:
// copy config/gitleaks.toml and LICENSE of a release of
// https://github.com/gitleaks/gitleaks here, run the tests, and review the new rules: one that finds hashes or public keys belongs among the unused.
const (
	gitleaksRelease = "v8.30.1"
	gitleaksSum     = "e163e53b9e7e8a8511e77271e2b323ed057759542a6d988258afe3a1fa329caf"
	gitleaksRules   = 222
	usedRules       = 110
)

func TestRules(t *testing.T) {
	sum := sha256.Sum256([]byte(gitleaks))
	if got := hex.EncodeToString(sum[:]); got != gitleaksSum {
		t.Errorf("the rules are not those of %s: %s", gitleaksRelease, got)
	}
	used, all := parseRules(gitleaks)
	if all != gitleaksRules || all != strings.Count(gitleaks, "\nregex = ")+1 || len(used) < usedRules {
		t.Errorf("%d of %d rules are used, want %d of %d or more", len(used), all, usedRules, gitleaksRules)
	}
	for _, rule := range used {
		if len(rule.keywords) == 0 {
			t.Errorf("%s has no keywords, and is slow", rule.pattern)
		}
		for _, keyword := range rule.keywords {
			if keyword != strings.ToLower(keyword) {
				t.Errorf("%s is never found by %s", rule.pattern, keyword)
			}
		}
		if rule.pattern.MatchString("") {
			t.Errorf("%s finds nothing at all", rule.pattern)
		}
	}
	for id := range unused {
		if !strings.Contains(gitleaks, `id = "`+id+`"`) {
			t.Errorf("there is no rule %s any more", id)
		}
	}
}
