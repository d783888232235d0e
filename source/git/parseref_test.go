package git

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestParseRef(t *testing.T) {
	hash := strings.Repeat("a1", 20)
	for text, want := range map[string][]Ref{
		"main":                {{Branch: "main"}, {Tag: "main"}},
		"feature/x":           {{Branch: "feature/x"}, {Tag: "feature/x"}},
		"v1.2.0":              {{Branch: "v1.2.0"}, {Tag: "v1.2.0"}},
		"1.4":                 {{Branch: "1.4"}, {Tag: "1.4"}},
		"a=b":                 {{Branch: "a=b"}, {Tag: "a=b"}},
		"refs/heads/1.4":      {{Branch: "1.4"}},
		"refs/tags/main":      {{Tag: "main"}},
		"HEAD":                {{}},
		hash:                  {{Commit: hash}},
		hash[:12]:             {{Branch: hash[:12]}, {Tag: hash[:12]}},
		"~1.4":                {{Semver: "~1.4"}},
		"^2":                  {{Semver: "^2"}},
		">=1.2.0 <2.0.0":      {{Semver: ">=1.2.0 <2.0.0"}},
		"1.x || >=3":          {{Semver: "1.x || >=3"}},
		"*":                   {{Semver: "*"}},
		"":                    nil,
		"~main":               nil,
		"main~1":              nil,
		"a b":                 nil,
		"refs/heads/":         nil,
		"refs/heads/a..b":     nil,
		"\x1b[31m":            nil,
		strings.ToUpper(hash): {{Branch: strings.ToUpper(hash)}, {Tag: strings.ToUpper(hash)}},
	} {
		got, err := ParseRef(text)
		if want == nil && err == nil {
			t.Errorf("%q is %v", text, got)
		} else if want == nil {
			sources.WantError(t, err, source.ErrInvalid)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
