package git

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/testdata/sources"
)

// A path with an escaped character is asked for as it stands in the URL.
func TestHTTPEscapedPath(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	w := serveHTTP(t, r, true, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !strings.HasPrefix(req.URL.EscapedPath(), "/acme/My%20Project/_git/repo/") {
				http.Error(w, canary, http.StatusNotFound)
				return
			}
			req.URL.Path = strings.TrimPrefix(req.URL.Path, "/acme/My Project/_git")
			next.ServeHTTP(w, req)
		})
	})
	covers := func(url string) error { return auth.Covers(w.URL+"/acme/My%20Project", url) }
	g := &Repository{URL: w.URL + "/acme/My%20Project/_git/repo", CABundle: w.ca(), HTTPAuth: tokenAuth{}, Covers: covers}
	sources.WantFiles(t, fetch(t, g, head(t, g)), map[string]string{"a.yaml": "a"})
}

// A credential stays within its URL prefix, wherever the server redirects to.
func TestHTTPRedirectStaysWithinThePrefix(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	for name, c := range map[string]struct {
		to   string // the path of the repository that the server redirects to
		want error
	}{
		"within":           {"/platform/renamed/repo", nil},
		"the ending .git":  {"/platform/old/repo.git", nil},
		"outside":          {"/evil/repo", source.ErrRedirect},
		"half an element":  {"/platform-2/repo", source.ErrRedirect},
		"by dots":          {"/platform/../evil/repo", source.ErrRedirect},
		"by escaped dots":  {"/platform/%2e%2e/evil/repo", source.ErrRedirect},
		"by one of both":   {"/platform/.%2E/evil/repo", source.ErrRedirect},
		"by two escapes":   {"/platform/%252e%252e/evil/repo", source.ErrRedirect},
		"by a slash":       {"/platform%2F..%2Fevil/repo", source.ErrRedirect},
		"by a backslash":   {"/platform/..%5Cevil/repo", source.ErrRedirect},
		"by a second hop":  {"/platform/hop/repo", source.ErrRedirect},
		"an empty element": {"/platform//evil/repo", source.ErrRedirect},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			w := serveHTTP(t, r, true, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					path, query, _ := strings.Cut(req.URL.RequestURI(), "?")
					if req.Header.Get("Authorization") != "" {
						asked = append(asked, path)
					}
					switch path {
					case "/platform/old/repo/info/refs":
						w.Header().Set("Location", c.to+"/info/refs?"+query) // as it is: http.Redirect would clean it
						w.WriteHeader(http.StatusFound)
					case "/platform/hop/repo/info/refs":
						http.Redirect(w, req, "/evil/repo/info/refs?"+query, http.StatusFound)
					default:
						req.URL.Path = "/repo" + req.URL.Path[strings.LastIndex(strings.TrimSuffix(req.URL.Path, infoRefs), "/repo")+len("/repo"):]
						req.URL.Path = strings.Replace(req.URL.Path, "/repo.git", "/repo", 1)
						next.ServeHTTP(w, req)
					}
				})
			})
			covers := func(url string) error { return auth.Covers(w.URL+"/platform", url) }
			if name == "the ending .git" {
				covers = func(url string) error { return auth.Covers(w.URL+"/platform/old/repo", url) }
			}
			_, err := both(t.Context(), &Repository{URL: w.URL + "/platform/old/repo", CABundle: w.ca(), HTTPAuth: tokenAuth{}, Covers: covers, Login: Login{Place: "Secret ns/git", Keys: "bearerToken"}})
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
			if !strings.Contains(err.Error(), "outside of the URL prefix") || !strings.Contains(source.Hint(err), "Secret ns/git") {
				t.Errorf("%v; %s", err, source.Hint(err))
			}
			for _, path := range asked {
				if path != "/platform/old/repo/info/refs" && path != "/platform/hop/repo/info/refs" {
					t.Errorf("the credential was sent to %s", path)
				}
			}
		})
	}
}
