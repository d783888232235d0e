package git

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestRefCheck(t *testing.T) {
	hash := strings.Repeat("1f", 20)
	cases := map[string]struct {
		reason string
		ref    Ref
		want   error
	}{
		"none":             {"the default branch", Ref{}, nil},
		"branch":           {"an ordinary name", Ref{Branch: "release/1.x"}, nil},
		"two":              {"which one would it be?", Ref{Branch: "main", Tag: "v1"}, source.ErrInvalid},
		"branch and range": {"which one would it be?", Ref{Branch: "main", Semver: "*"}, source.ErrInvalid},
		"bad branch":       {"git has no such names", Ref{Branch: "a..b"}, source.ErrInvalid},
		"control":          {"nor those", Ref{Branch: "a\x1b[31m"}, source.ErrInvalid},
		"bad tag":          {"nor those", Ref{Tag: "a b"}, source.ErrInvalid},
		"long":             {"nor those", Ref{Tag: strings.Repeat("a", 300)}, source.ErrInvalid},
		"range":            {"a range", Ref{Semver: ">=1.2 <2 || ~4.1"}, nil},
		"bad range":        {"no range", Ref{Semver: "latest"}, source.ErrInvalid},
		"commit":           {"a full hash", Ref{Commit: hash}, nil},
		"short commit":     {"a short hash may come to mean another commit", Ref{Commit: hash[:12]}, source.ErrInvalid},
		"upper case":       {"one spelling only", Ref{Commit: strings.ToUpper(hash)}, source.ErrInvalid},
		"no commit":        {"the zero hash stands for nothing", Ref{Commit: strings.Repeat("0", 40)}, source.ErrInvalid},
		"SHA-256":          {"said as such", Ref{Commit: strings.Repeat("1f", 32)}, source.ErrUnsupported},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.ref.check()
			if c.want == nil {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			sources.WantError(t, err, c.want)
		})
	}
}

// What servers advertise that the git program here would not.
func TestRefResolve(t *testing.T) {
	one, two := plumbing.NewHash(strings.Repeat("1", 40)), plumbing.NewHash(strings.Repeat("2", 40))
	cases := map[string]struct {
		reason string
		ref    Ref
		head   string
		refs   map[string]plumbing.Hash
		want   string
	}{
		"no symref, main":   {"old servers do not say which branch HEAD is", Ref{}, "", map[string]plumbing.Hash{"HEAD": one, "refs/heads/a": one, "refs/heads/main": one}, "main"},
		"no symref, master": {"main and master before others", Ref{}, "", map[string]plumbing.Hash{"HEAD": one, "refs/heads/a": one, "refs/heads/master": one, "refs/heads/main": two}, "master"},
		"no symref, other":  {"the first by name, the same each time", Ref{}, "", map[string]plumbing.Hash{"HEAD": one, "refs/heads/b": one, "refs/heads/a": one}, "a"},
		"detached":          {"no branch is there", Ref{}, "", map[string]plumbing.Hash{"HEAD": one, "refs/heads/a": two}, "HEAD"},
		"control character": {"a server's name is not repeated when it is not plain", Ref{}, "refs/heads/\x1b[31m", map[string]plumbing.Hash{"HEAD": one}, "HEAD"},
		"not seen":          {"nor when a part of it does not show", Ref{}, "refs/heads/ma\u200bin", map[string]plumbing.Hash{"HEAD": one}, "HEAD"},
		"long":              {"nor when it is longer than one that can be asked for", Ref{}, "refs/heads/" + strings.Repeat("a", 256), map[string]plumbing.Hash{"HEAD": one}, "HEAD"},
		"long version":      {"a tag of any length can be a version", Ref{Semver: "*"}, "", map[string]plumbing.Hash{"refs/tags/1.0.0": one, "refs/tags/2.0.0+" + strings.Repeat("a", 256): two}, "1.0.0"},
		"same version":      {"v1.0.0 and 1.0.0 are one version: the greater name, each time", Ref{Semver: "*"}, "", map[string]plumbing.Hash{"refs/tags/1.0.0": two, "refs/tags/v1.0.0": one}, "v1.0.0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := c.ref.resolve(&advertisement{head: c.head, refs: c.refs})
			if got.Name != c.want || got.Hash != one {
				t.Errorf("%s: got %s", c.reason, got)
			}
		})
	}
}
