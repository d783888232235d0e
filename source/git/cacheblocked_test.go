package git

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/sources"
)

// A server that fails whenever something is offered, in a way that says nothing of it, is
// asked for the whole soon: what is kept must not keep a source from being followed.
func TestCacheThatIsInTheWay(t *testing.T) {
	for reason, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"it fails":             func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a proxy refuses that": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"it hangs":             func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(reason, func(t *testing.T) {
			r := sources.NewRepo(t)
			r.Commit(map[string]string{"pools/a.yaml": "0"})
			w := serveHTTP(t, r, false, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					body, err := io.ReadAll(req.Body)
					if req.Body = io.NopCloser(bytes.NewReader(body)); err != nil || bytes.Contains(body, []byte("have ")) {
						answer(w, req)
						return
					}
					next.ServeHTTP(w, req)
				})
			})
			g := &Repository{URL: w.repoURL(), Ref: Ref{Branch: "main"}, Path: "pools", Cache: newCache(t), Timeout: 2 * time.Second}
			known, _, err := g.Latest(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			r.Commit(map[string]string{"pools/a.yaml": "1"})
			for poll := 1; ; poll++ {
				_, snapshot, err := g.Latest(t.Context(), known)
				if err == nil {
					sources.WantFiles(t, snapshot, map[string]string{"a.yaml": "1"})
					return
				}
				if poll > maxMissed {
					t.Fatalf("poll %d still fails: %v", poll, err)
				}
			}
		})
	}
}
