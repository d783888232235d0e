package git

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/sources"
)

func noFilter(r *sources.Repo, _ *forge) { r.Git("config", "uploadpack.allowFilter", "false") }

// A server that no longer offers what it has offered at the last poll.
func TestServerThatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		files  int // that are kept at the most
		change func(r *sources.Repo, f *forge)
	}{
		"no more filter":           {"a partial clone is refused", 1, noFilter},
		"no more filter, all anew": {"the same, where nothing is kept", 0, noFilter},
		"no more version 2":        {"a proxy drops the header", 1, func(_ *sources.Repo, f *forge) { f.v0 = true }},
	} {
		t.Run(name, func(t *testing.T) {
			story := newStory(t)
			f := &forge{}
			s := &forgeServer{}
			s.webServer = serveHTTP(t, story.r, false, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if f.v0 {
						req.Header.Del("Git-Protocol")
					}
					next.ServeHTTP(w, req)
				})
			})
			g := &Repository{URL: s.repoURL(), Ref: Ref{Branch: "main"}, Path: "pools", Cache: newCache(t)}
			g.Cache.of.maxFiles = c.files
			known, _, _, _, err := s.latest(t, g, "")
			if err != nil {
				t.Fatal(err)
			}
			c.change(story.r, f)
			for i, most := range []int{6, 2} {
				story.r.Commit(map[string]string{"pools/0/1.yaml": fmt.Sprint(i)})
				revision, snapshot, requests, _, err := s.latest(t, g, known)
				if err != nil {
					t.Fatalf("%s: %v, after %v", c.reason, err, s.requests())
				}
				wantSame(t, story.r, g.Ref, g.Path, revision, snapshot)
				if known = revision; requests > most {
					t.Errorf("%d requests, want at most %d", requests, most)
				}
			}
		})
	}
}

// Where a redirect led the last time is not gone to without asking: the URL may have
// become that of another repository. That GitLab adds an ending is no such thing.
func TestRedirectIsNotRemembered(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	for to, requests := range map[string]int{"/repo": 3, "/old.git": 1} {
		w := serveHTTP(t, r, false, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if rest, found := strings.CutPrefix(req.URL.RequestURI(), "/old/"); found {
					http.Redirect(w, req, to+"/"+rest, http.StatusMovedPermanently)
					return
				}
				req.URL.Path = strings.Replace(req.URL.Path, "/old.git", "/repo", 1)
				next.ServeHTTP(w, req)
			})
		})
		g := &Repository{URL: w.URL + "/old", Cache: newCache(t)}
		known := head(t, g)
		before := len(w.requests())
		if again := head(t, g); again != known {
			t.Errorf("%s, and then %s", known, again)
		}
		if n := len(w.requests()) - before; n != requests {
			t.Errorf("redirected to %s: %d requests, want %d: %v", to, n, requests, w.requests())
		}
	}
}
