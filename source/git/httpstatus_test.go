package git

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for name, c := range map[string]struct {
		reason, header string
		want           time.Duration
	}{
		"none":            {"nothing is asked", "", 0},
		"seconds":         {"as many servers have it", "60", time.Minute},
		"a few":           {"rounded up", "3", 10 * time.Second},
		"many":            {"rounded up", "61", 2 * time.Minute},
		"zero":            {"at once", "0", 0},
		"date":            {"by the clock of this machine", "Mon, 04 May 2026 03:04:01 GMT", 2 * time.Minute},
		"date, in part":   {"rounded up", "Mon, 04 May 2026 03:02:12 GMT", 20 * time.Second},
		"date that is by": {"at once", "Mon, 04 May 2026 03:00:00 GMT", 0},
		"for long":        {"no server is left alone for longer", "86400", source.MaxRetryAfter},
		"for ever":        {"nor for so long", "99999999999999999999", 0},
		"another year":    {"by date either", "Mon, 04 May 2099 03:00:00 GMT", source.MaxRetryAfter},
		"negative":        {"no number of seconds", "-5", 0},
		"words":           {"of a server that jokes", canary, 0},
	} {
		if got := retryAfter(c.header, now); got != c.want {
			t.Errorf("%s: %v, want %v: %s", name, got, c.want, c.reason)
		}
	}
}

// A server that asks to be left alone: how long is in the error as a number and in words,
// whichever request it answers like that, and no further request follows.
func TestRateLimit(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	listing := func(req *http.Request) bool { return req.Method == http.MethodPost && !fetches(req) }
	for name, c := range map[string]struct {
		reason string
		code   int
		header string
		at     func(*http.Request) bool
		kind   error
		wait   time.Duration
		asked  int
	}{
		"greeting":               {"the first request of all", 429, "120", func(*http.Request) bool { return true }, source.ErrRateLimited, 2 * time.Minute, 1},
		"refs":                   {"the second", 429, "120", listing, source.ErrRateLimited, 2 * time.Minute, 2},
		"pack":                   {"the third", 429, "120", fetches, source.ErrRateLimited, 2 * time.Minute, 3},
		"without":                {"for how long is not said", 429, "", fetches, source.ErrRateLimited, 0, 3},
		"no time":                {"nor here", 429, canary, fetches, source.ErrRateLimited, 0, 3},
		"unavailable":            {"a server that is being upgraded", 503, "30", listing, source.ErrServer, 30 * time.Second, 2},
		"unavailable, no header": {"nothing is asked", 503, "", listing, source.ErrServer, 0, 2},
		"another status":         {"the header belongs to a redirect there", 500, "30", listing, source.ErrServer, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := serveHTTP(t, r, false, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if c.at(req) {
						w.Header().Set("Retry-After", c.header)
						http.Error(w, canary, c.code)
						return
					}
					next.ServeHTTP(w, req)
				})
			})
			_, snapshot, err := (&Repository{URL: w.repoURL(), Cache: newCache(t)}).Latest(t.Context(), "")
			sources.WantError(t, err, c.kind)
			wantNoCanary(t, err)
			if got := source.RetryAfter(err); got != c.wait || snapshot != nil {
				t.Errorf("%s: wait %v, want %v", c.reason, got, c.wait)
			}
			if c.wait > 0 && !strings.Contains(err.Error(), fmt.Sprintf("asks to wait %v", c.wait)) {
				t.Errorf("%v does not say how long", err)
			}
			if n := len(w.requests()); n != c.asked {
				t.Errorf("%d requests, want %d: %v", n, c.asked, w.requests())
			}
		})
	}
}

// A server that is known, and in trouble of each kind: how many requests a poll is until
// it is clear, that what was kept is of use afterwards, and that nothing loops.
func TestTroubleOfAKnownServer(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		fault  http.HandlerFunc
		want   error
		first  int // requests of the first poll in trouble
		then   int // and of each later one
	}{
		"401":      {"another credential is wanted", status(401), source.ErrUnauthorized, 1, 1},
		"403":      {"not let in", status(403), source.ErrUnauthorized, 1, 1},
		"404":      {"it may have moved: the greeting is redirected, no other request is", status(404), source.ErrRepositoryMissing, 2, 1},
		"407":      {"a proxy", status(407), source.ErrUnreachable, 1, 1},
		"429":      {"too often", status(429), source.ErrRateLimited, 1, 1},
		"500":      {"its own trouble", status(500), source.ErrServer, 1, 1},
		"503":      {"its own trouble", status(503), source.ErrServer, 1, 1},
		"page":     {"for people", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>"+canary) }, source.ErrServer, 2, 1},
		"redirect": {"a request with a body does not move", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/"+canary, http.StatusFound) }, source.ErrRedirect, 2, 1},
		"cut off":  {"the connection is lost", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, source.ErrUnreachable, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			r.Commit(map[string]string{"a.yaml": "a", "b.yaml": sources.Noise(5000)})
			var ill atomic.Bool
			w := serveHTTP(t, r, false, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if ill.Load() {
						c.fault(w, req)
						return
					}
					next.ServeHTTP(w, req)
				})
			})
			g := &Repository{URL: w.repoURL(), Cache: newCache(t)}
			known, _, err := g.Latest(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			ill.Store(true)
			for i, want := range []int{c.first, c.then, c.then} {
				before := len(w.requests())
				_, snapshot, err := g.Latest(t.Context(), known)
				sources.WantError(t, err, c.want)
				wantNoCanary(t, err)
				if n := len(w.requests()) - before; n > want || snapshot != nil {
					t.Errorf("poll %d: %d requests, want at most %d: %s", i, n, want, c.reason)
				}
			}
			ill.Store(false)
			r.Commit(map[string]string{"a.yaml": "b"})
			revision, snapshot, err := g.Latest(t.Context(), known)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, r, g.Ref, "", revision, snapshot)
			if packs := len(g.Cache.kept.indexes); packs != 2 {
				t.Errorf("%d packs are kept: what was there was not of use", packs)
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, canary, code) }
}
