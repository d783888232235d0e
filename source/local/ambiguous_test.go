package local

import (
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// A name that could be several things is none of them, and a full name is one thing,
// whatever else there is.
func TestLocalResolveRefusesAmbiguousNames(t *testing.T) {
	r := sources.NewRepo(t)
	first := r.Commit(map[string]string{"a": "1"})
	second := r.Commit(map[string]string{"a": "2"})
	for _, ref := range []string{
		"refs/remotes/origin/main", "refs/remotes/origin/HEAD", "refs/tags/v1", "refs/heads/alone",
	} {
		r.Git("update-ref", ref, first)
	}
	// Whoever may push can make these.
	for _, ref := range []string{
		"refs/tags/origin/main", "refs/heads/origin", "refs/heads/v1", "refs/tags/HEAD", "refs/heads/HEAD", "refs/heads/" + first, "refs/tags/" + first[:8],
		"refs/heads/refs/remotes/origin/main", "refs/tags/refs/remotes/origin/main", "refs/heads/refs/heads/alone", "refs/remotes/refs/heads/alone",
		"refs/tags/heads/alone",
	} {
		r.Git("update-ref", ref, second)
	}
	l := open(t, r.Dir)
	for name, candidates := range map[string][]string{
		"origin/main":   {"refs/tags/origin/main", "refs/remotes/origin/main"},
		"origin/main~0": {"refs/tags/origin/main", "refs/remotes/origin/main"},
		"origin":        {"refs/heads/origin", "refs/remotes/origin/HEAD"},
		"v1":            {"refs/tags/v1", "refs/heads/v1"},
		"heads/alone":   {"refs/heads/alone", "refs/tags/heads/alone"},
		first[:8]:       {"refs/tags/" + first[:8], first},
	} {
		got, err := l.Resolve(t.Context(), name)
		if err == nil {
			t.Errorf("%s is %s", name, got)
			continue
		}
		sources.WantError(t, err, source.ErrAmbiguous)
		for _, candidate := range candidates {
			if !strings.Contains(err.Error(), `"`+candidate+`"`) {
				t.Errorf("%s: %v does not name %s", name, err, candidate)
			}
		}
	}
	for name, want := range map[string]string{
		"HEAD":                     second,
		"@":                        second,
		"main":                     second,
		"alone":                    first,
		"refs/remotes/origin/main": first,
		"refs/heads/alone":         first,
		first:                      first,
		first[:9]:                  first,
	} {
		if got, err := l.Resolve(t.Context(), name); err != nil || !strings.HasSuffix(got, "sha1:"+want) {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
	// A full name that there is not is not looked for elsewhere.
	r.Git("update-ref", "refs/heads/refs/remotes/origin/gone", second)
	_, err := l.Resolve(t.Context(), "refs/remotes/origin/gone")
	sources.WantError(t, err, source.ErrRefMissing)
}
