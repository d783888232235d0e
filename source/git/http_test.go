package git

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

const canary = "s3cr3t-c4nary"

func wantNoCanary(t *testing.T, err error) {
	t.Helper()
	wantNoSecret(t, canary, printed(err))
}

// I10: nothing that a server says gets into an error.
func TestHTTPAnswers(t *testing.T) {
	pkt := func(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }
	hash := strings.Repeat("1f", 20)
	answer := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("WWW-Authenticate", `Basic realm="`+canary+`"`)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	refs := "application/x-git-upload-pack-advertisement"
	preamble := pkt("# service=git-upload-pack\n") + "0000"
	cases := map[string]struct {
		reason  string
		handler http.HandlerFunc
		want    error
	}{
		"401":           {"a credential is wanted", answer(401, "text/plain", canary), source.ErrUnauthorized},
		"403":           {"another credential is wanted", answer(403, "text/plain", canary), source.ErrUnauthorized},
		"404":           {"no such repository", answer(404, "text/html", canary), source.ErrRepositoryMissing},
		"410":           {"no longer there", answer(410, "text/html", canary), source.ErrRepositoryMissing},
		"429":           {"too often", answer(429, "text/plain", canary), source.ErrRateLimited},
		"500":           {"the server failed", answer(500, refs, canary), source.ErrServer},
		"login page":    {"200 and a page for people", answer(200, "text/html", canary), source.ErrServer},
		"nothing":       {"200 and nothing", answer(200, refs, ""), source.ErrServer},
		"garbage":       {"the right type and the wrong content", answer(200, refs, canary), source.ErrServer},
		"garbage lines": {"lines that are no refs", answer(200, refs, preamble+pkt(canary+"\n")+"0000"), source.ErrServer},
		"ERR":           {"the protocol's own error", answer(200, refs, preamble+pkt("ERR "+canary)), source.ErrServer},
		"ERR denied":    {"an error that says why", answer(200, refs, preamble+pkt("ERR access denied "+canary)), source.ErrUnauthorized},
		"ERR missing":   {"an error that says why", answer(200, refs, preamble+pkt("ERR Repository not found "+canary)), source.ErrRepositoryMissing},
		"cut off":       {"an end in the middle", answer(200, refs, preamble+pkt(hash+" refs/heads/"+canary+"\x00\n")), source.ErrUnreachable},
		"endless": {"more refs than there can be", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", refs)
			line := strings.Repeat(pkt(hash+" refs/heads/"+canary+"\n"), 1000)
			for fmt.Fprint(w, preamble); ; {
				if _, err := fmt.Fprint(w, line); err != nil {
					return
				}
			}
		}, source.ErrTooLarge},
		"redirect to http elsewhere": {"a path that is no repository", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login?token="+canary, http.StatusFound)
		}, source.ErrRedirect},
		"redirect that cannot be parsed": {"the parser's error repeats it", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://%zz"+canary)
			w.WriteHeader(http.StatusFound)
		}, source.ErrServer},
		"redirect loop": {"no end", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
		}, source.ErrRedirect},
		"redirect to ftp": {"not http", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "ftp://"+r.Host+r.URL.RequestURI(), http.StatusFound)
		}, source.ErrRedirect},
		"redirect with a credential": {"it would end up in a request", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://user:"+canary+"@"+r.Host+r.URL.RequestURI(), http.StatusFound)
		}, source.ErrRedirect},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			small := defaultLimits()
			small.advertisement = 1 << 20
			w := serve(t, false, c.handler)
			_, err := (&Repository{URL: w.repoURL(), limits: &small}).Head(t.Context())
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
}

// The same for the second request, whose error a server may put in three places.
func TestHTTPAnswersToFetch(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	pkt := func(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }
	result := "application/x-git-upload-pack-result"
	cases := map[string]struct {
		reason, contentType, body string
		status                    int
		old                       bool
		want                      error
	}{
		"500":            {"the server failed", "text/plain", canary, 500, false, source.ErrServer},
		"401":            {"only the request for the pack is refused", "text/plain", canary, 401, false, source.ErrUnauthorized},
		"429":            {"too often", "text/plain", canary, 429, false, source.ErrRateLimited},
		"redirect":       {"a request with a body does not move", "text/plain", canary, 307, false, source.ErrRedirect},
		"page":           {"a page for people", "text/html", canary, 200, false, source.ErrServer},
		"ERR":            {"the server will not give it", result, pkt("ERR upload-pack: not our ref " + canary), 200, false, source.ErrMoved},
		"channel 3":      {"an error among the pack", result, pkt("packfile\n") + pkt("\x03"+canary), 200, false, source.ErrServer},
		"no pack":        {"something else than a pack", result, pkt("packfile\n") + pkt("\x01"+canary), 200, false, source.ErrServer},
		"no section":     {"not a word of the protocol", result, pkt(canary) + "0000", 200, false, source.ErrServer},
		"elsewhere":      {"a section that was not asked for", result, pkt("packfile-uris\n") + pkt(aCommit+" https://"+canary) + "0001" + pkt("packfile\n"), 200, false, source.ErrServer},
		"no pack at all": {"nothing", result, "0000", 200, false, source.ErrServer},
		"cut off":        {"an end before the pack", result, pkt("shallow-info\n"), 200, false, source.ErrUnreachable},

		"version 0, ERR":            {"the server will not give it", result, pkt("ERR upload-pack: not our ref " + canary), 200, true, source.ErrMoved},
		"version 0, channel 3":      {"an error among the pack", result, "0000" + pkt("NAK\n") + pkt("\x03"+canary), 200, true, source.ErrServer},
		"version 0, no pack":        {"something else than a pack", result, "0000" + pkt("NAK\n") + pkt("\x01"+canary), 200, true, source.ErrServer},
		"version 0, no pack at all": {"nothing", result, "0000" + pkt("NAK\n") + "0000", 200, true, source.ErrServer},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := serveHTTP(t, r, false, func(next http.Handler) http.Handler {
				if c.old {
					next = old(next)
				}
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if !fetches(req) {
						next.ServeHTTP(w, req)
						return
					}
					w.Header().Set("Content-Type", c.contentType)
					w.Header().Set("Location", "http://"+req.Host+"/"+canary)
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
				})
			})
			_, err := both(t.Context(), &Repository{URL: w.repoURL(), Ref: Ref{Branch: "main"}})
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
}

func TestHTTPRedirect(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	plain, secure := serveHTTP(t, r, false, nil), serveHTTP(t, r, true, nil)
	redirect := func(to string) func(http.Handler) http.Handler {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				http.Redirect(w, req, to+req.URL.RequestURI(), http.StatusMovedPermanently)
			})
		}
	}
	// Two hosts, and two ports, of this machine.
	here := serveHTTP(t, r, false, nil)
	elsewhere := strings.Replace(here.URL, "127.0.0.1", "localhost", 1)
	for name, c := range map[string]struct {
		reason, to string
		tls        bool
		unseen     *webServer
	}{
		"another port":   {"the server at it may be anybody's", plain.URL, false, plain},
		"another host":   {"the URL names 127.0.0.1", elsewhere, false, here},
		"another scheme": {"also to https", secure.URL, false, secure},
		"down":           {"anyone could read it", plain.URL, true, plain},
		"other server":   {"with a certificate that is trusted", secure.URL, true, secure},
		"metadata":       {"of the cloud", "http://169.254.169.254", false, plain},
	} {
		t.Run(name, func(t *testing.T) {
			w := serveHTTP(t, r, c.tls, redirect(c.to))
			before := len(c.unseen.requests())
			_, err := (&Repository{URL: w.repoURL(), CABundle: secure.ca()}).Head(t.Context())
			if c.tls {
				_, err = (&Repository{URL: w.repoURL(), CABundle: w.ca(), HTTPAuth: tokenAuth{}}).Head(t.Context())
			}
			sources.WantError(t, err, source.ErrRedirect)
			wantNoCanary(t, err)
			if len(c.unseen.requests()) != before {
				t.Errorf("the other server was asked: %s", c.reason)
			}
		})
	}
	t.Run("later hop", func(t *testing.T) {
		w := serveHTTP(t, r, false, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				to := "/moved" + req.URL.RequestURI()
				if strings.HasPrefix(req.URL.Path, "/moved") {
					to = elsewhere + strings.TrimPrefix(req.URL.RequestURI(), "/moved")
				}
				http.Redirect(w, req, to, http.StatusFound)
			})
		})
		before := len(here.requests())
		_, err := (&Repository{URL: w.repoURL()}).Head(t.Context())
		sources.WantError(t, err, source.ErrRedirect)
		if len(w.requests()) != 2 || len(here.requests()) != before {
			t.Errorf("requests were %v, and %d elsewhere", w.requests(), len(here.requests())-before)
		}
	})
	t.Run("renamed", func(t *testing.T) {
		var sent []string
		w := serveHTTP(t, r, true, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				sent = append(sent, req.Header.Get("Authorization"))
				if old, found := strings.CutPrefix(req.URL.RequestURI(), "/old"); found {
					http.Redirect(w, req, old, http.StatusMovedPermanently)
					return
				}
				next.ServeHTTP(w, req)
			})
		})
		g := &Repository{URL: w.URL + "/old/repo", CABundle: w.ca(), HTTPAuth: tokenAuth{}}
		sources.WantFiles(t, fetch(t, g, head(t, g)), map[string]string{"a.yaml": "a"})
		if want := slices.Repeat([]string{"Bearer " + canary}, len(sent)); len(sent) < 5 || !slices.Equal(sent, want) {
			t.Errorf("the host of the URL gets the credential each time: %q", sent)
		}
	})
}

type tokenAuth struct{}

func (tokenAuth) SetAuth(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+canary)
	r.Header.Set("X-Token", canary)
}

func TestHTTPAuth(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	login := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if _, password, _ := req.BasicAuth(); password != canary {
				http.Error(w, canary, http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
	secure, plain := serveHTTP(t, r, true, login), serveHTTP(t, r, false, login)
	good, bad := &githttp.BasicAuth{Username: "u", Password: canary}, &githttp.BasicAuth{Username: "u", Password: canary + "x"}
	cases := map[string]struct {
		reason string
		url    string
		auth   HTTPAuth
		ssh    SSHAuth
		want   error
	}{
		"good":  {"both requests carry it", secure.repoURL(), good, nil, nil},
		"bad":   {"it is not in the error", secure.repoURL(), bad, nil, source.ErrUnauthorized},
		"none":  {"the hint says that one is missing", secure.repoURL(), nil, nil, source.ErrUnauthorized},
		"plain": {"anyone could read it", plain.repoURL(), good, nil, source.ErrInvalid},
		"ssh":   {"of another kind", secure.repoURL(), nil, serveSSH(t).auth(), source.ErrInvalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), &Repository{URL: c.url, CABundle: secure.ca(), HTTPAuth: c.auth, SSHAuth: c.ssh})
			if c.want == nil {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
	if len(plain.requests()) != 0 {
		t.Error("a server was contacted over http with a credential")
	}
}

func TestHTTPCertificate(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	w, plain := serveHTTP(t, r, true, nil), serveHTTP(t, r, false, nil)
	cases := map[string]struct {
		reason     string
		repository Repository
		want       error
	}{
		"unknown authority": {"not verified", Repository{URL: w.repoURL()}, source.ErrCertificate},
		"other host":        {"verified, and for others", Repository{URL: strings.Replace(w.repoURL(), "127.0.0.1", "localhost", 1), CABundle: w.ca()}, source.ErrCertificate},
		"no PEM":            {"a bundle that holds nothing", Repository{URL: w.repoURL(), CABundle: []byte(canary)}, source.ErrInvalid},
		"no TLS":            {"https at a port for http", Repository{URL: strings.Replace(plain.repoURL(), "http", "https", 1)}, source.ErrUnreachable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.repository.Head(t.Context())
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
}

// cutting lets some bytes of the pack through and breaks the connection.
func cutting(after int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if fetches(req) {
				w = &cut{ResponseWriter: w, left: after}
			}
			next.ServeHTTP(w, req)
		})
	}
}

type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(b)
}

func TestHTTPServerGone(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": sources.Noise(500_000), "b.yaml": "b"})
	for _, after := range []int{0, 1000, 400_000} {
		for _, tls := range []bool{false, true} {
			w := serveHTTP(t, r, tls, cutting(after))
			var bundle []byte
			if tls {
				bundle = w.ca()
			}
			_, err := both(t.Context(), &Repository{URL: w.repoURL(), CABundle: bundle})
			if err == nil {
				t.Fatalf("cut after %d: half a pack was taken", after)
			}
			if reason := source.Reason(err); reason != "ServerFailed" && reason != "Unreachable" {
				t.Errorf("cut after %d: %v (%s)", after, err, reason)
			}
		}
	}
}

// drip sends an answer one byte at a time, so that no pause is ever long.
func drip(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(&dripping{ResponseWriter: w, req: req}, req)
	})
}

type dripping struct {
	http.ResponseWriter
	req *http.Request
}

func (d *dripping) Write(b []byte) (int, error) {
	for i := range b {
		select {
		case <-d.req.Context().Done():
			return i, d.req.Context().Err()
		case <-time.After(20 * time.Millisecond):
		}
		if _, err := d.ResponseWriter.Write(b[i : i+1]); err != nil {
			return i, err
		}
		d.ResponseWriter.(http.Flusher).Flush()
	}
	return len(b), nil
}
