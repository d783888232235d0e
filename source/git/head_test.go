package git

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// tagged is a repository with all that a ref can name.
func tagged(t testing.TB) (r *sources.Repo, old, latest string) {
	r = sources.NewRepo(t)
	old = r.Commit(map[string]string{"pools/a.yaml": "old"})
	r.Git("tag", "v1.2.0")
	r.Git("tag", "v1.10.0-rc.1")
	r.Git("tag", "20260102")
	r.Git("tag", "v9")
	latest = r.Commit(map[string]string{"pools/a.yaml": "latest"})
	r.Git("tag", "--annotate", "--message=m", "v1.9.0")
	r.Git("tag", "--annotate", "--message=m", "release@2")
	r.Git("branch", "feature/x@y", old)
	return r, old, latest
}

func TestHead(t *testing.T) {
	r, old, latest := tagged(t)
	cases := map[string]struct {
		reason string
		ref    Ref
		want   string
	}{
		"default":       {"no ref is the remote's default branch, by its name", Ref{}, "main@sha1:" + latest},
		"branch":        {"a branch is followed", Ref{Branch: "main"}, "main@sha1:" + latest},
		"odd branch":    {"a branch may have a slash and an @ in its name", Ref{Branch: "feature/x@y"}, "feature/x@y@sha1:" + old},
		"tag":           {"a light tag is a commit", Ref{Tag: "v1.2.0"}, "v1.2.0@sha1:" + old},
		"annotated tag": {"an annotated tag is peeled to its commit", Ref{Tag: "release@2"}, "release@2@sha1:" + latest},
		"semver":        {"versions are ordered as versions, 1.9 above 1.2; a pre-release does not count", Ref{Semver: "^1.0.0"}, "v1.9.0@sha1:" + latest},
		"prerelease":    {"a range that names a pre-release takes them", Ref{Semver: ">=1.0.0-0"}, "v1.10.0-rc.1@sha1:" + old},
		"not a version": {"v9 and 20260102 are no full versions and do not win", Ref{Semver: ">=1"}, "v1.9.0@sha1:" + latest},
		"commit":        {"a commit is its own answer", Ref{Commit: old}, "sha1:" + old},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := head(t, &Repository{URL: r.URL(), Ref: c.ref}); got != c.want {
				t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
			}
		})
	}
}

func TestHeadMissing(t *testing.T) {
	r, _, _ := tagged(t)
	unborn := sources.NewRepo(t)
	unborn.Commit(map[string]string{"a.yaml": "a"})
	unborn.Git("symbolic-ref", "HEAD", "refs/heads/unborn")
	cases := map[string]struct {
		reason     string
		repository Repository
		want       error
	}{
		"branch":        {"no such branch", Repository{URL: r.URL(), Ref: Ref{Branch: "nope"}}, source.ErrRefMissing},
		"tag as branch": {"a tag is no branch", Repository{URL: r.URL(), Ref: Ref{Branch: "v1.2.0"}}, source.ErrRefMissing},
		"tag":           {"no such tag", Repository{URL: r.URL(), Ref: Ref{Tag: "nope"}}, source.ErrRefMissing},
		"semver":        {"no tag in the range", Repository{URL: r.URL(), Ref: Ref{Semver: ">=7.0.0"}}, source.ErrRefMissing},
		"unborn":        {"HEAD names a branch without commits while others have some", Repository{URL: unborn.URL()}, source.ErrRefMissing},
		"empty":         {"a repository without a commit", Repository{URL: sources.NewRepo(t).URL()}, source.ErrEmptyRepository},
		"no repository": {"a folder that is no repository", Repository{URL: "file://" + t.TempDir()}, source.ErrRepositoryMissing},
		"no folder":     {"nothing there at all", Repository{URL: "file://" + t.TempDir() + "/nope"}, source.ErrRepositoryMissing},
		"SHA-256":       {"go-git cannot read it", Repository{URL: sha256Repo(t).URL()}, source.ErrUnsupported},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.repository.Head(t.Context())
			sources.WantError(t, err, c.want)
		})
	}
}

func sha256Repo(t testing.TB) *sources.Repo {
	r := sources.NewRepo(t, "--object-format=sha256")
	r.Commit(map[string]string{"a.yaml": "a"})
	return r
}

// In version 2 of the protocol the first poll is two requests, and each later one is one,
// whether anything is known of the server otherwise or not; in version 0 each is one.
func TestHeadIsOneRequest(t *testing.T) {
	r, _, latest := tagged(t)
	const greeting, listing = "GET /repo/info/refs?service=git-upload-pack", "POST /repo/git-upload-pack"
	for name, ref := range map[string]Ref{"default": {}, "branch": {Branch: "main"}, "tag": {Tag: "v1.9.0"}, "semver": {Semver: "*"}} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				wrap func(http.Handler) http.Handler
				want []string
			}{
				{nil, []string{greeting, listing, listing, listing}},
				{old, []string{greeting, greeting, greeting}},
			} {
				w := serveHTTP(t, r, false, c.wrap)
				g := &Repository{URL: w.repoURL(), Ref: ref, Cache: newCache(t)}
				first := head(t, g)
				for range 2 {
					if again, snapshot, err := g.Latest(t.Context(), first); again != first || snapshot != nil || err != nil {
						t.Errorf("Latest gives %s, %v, %v, want %s", again, snapshot, err, first)
					}
				}
				if diff := cmp.Diff(c.want, w.requests()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			}
		})
	}
	t.Run("commit", func(t *testing.T) {
		w := serveHTTP(t, r, false, nil)
		head(t, &Repository{URL: w.repoURL(), Ref: Ref{Commit: latest}})
		if len(w.requests()) != 0 {
			t.Errorf("a commit needs no request, saw %v", w.requests())
		}
	})
}

// BenchmarkHead is what a poll costs that finds nothing new.
func BenchmarkHead(b *testing.B) {
	r, _, _ := tagged(b)
	w := serveHTTP(b, r, false, nil)
	for name, url := range map[string]string{"http": w.repoURL(), "file": r.URL()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				head(b, &Repository{URL: url})
			}
		})
	}
}
