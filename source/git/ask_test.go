package git

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/testdata/proxies"
	"github.com/nodepools/nodepools/testdata/secrets"
	"github.com/nodepools/nodepools/testdata/sources"
)

func askFor(t *testing.T, g *Repository, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return g.Ask(request)
}

// A server beside the repository gets what is sent to it, and nothing that is the
// repository's; by the proxy, whichever it is.
func TestAsk(t *testing.T) {
	login, err := auth.Parse(map[string][]byte{"bearerToken": []byte(canary)})
	if err != nil {
		t.Fatal(err)
	}
	w := serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s %s %q", r.Method, body, r.Header["Authorization"])
	}))
	servers := map[string]string{"example.com:443": w.Listener.Addr().String()}
	for name, data := range map[string]map[string]string{
		"http":   {"address": "http://" + proxies.HTTP(t, &proxies.Proxy{Servers: servers}, nil).Address},
		"socks5": {"address": "socks5://" + proxies.SOCKS(t, &proxies.Proxy{Servers: servers}).Address},
	} {
		g := through(t, &Repository{URL: "https://git.example.com/repo", CABundle: w.ca(), HTTPAuth: login}, data)
		answer, err := askFor(t, g, "https://example.com/token")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, _ := io.ReadAll(answer.Body); string(body) != "POST body []" || answer.StatusCode != http.StatusCreated {
			t.Errorf("%s: %d %s", name, answer.StatusCode, body)
		}
	}
}

// The certificate of the client is for the host of the repository.
func TestAskShowsTheCertificateToTheRepositorysHost(t *testing.T) {
	own := newAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(own.cert)
	w := serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.TLS.PeerCertificates)) }))
	w.TLS.ClientAuth, w.TLS.ClientCAs = tls.RequestClientCert, pool
	pair := own.client()
	for url, want := range map[string]string{w.repoURL(): "1", "https://git.example.com/repo": "0"} {
		g := withSecret(t, url, map[string]string{"ca.crt": string(w.ca()), "tls.crt": pair["tls.crt"], "tls.key": pair["tls.key"]})
		answer, err := askFor(t, g, w.URL+"/token")
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(answer.Body); string(body) != want {
			t.Errorf("%s: %s certificates are shown, want %s", url, body, want)
		}
	}
}

// Whatever a server beside the repository does, there is one error, in time and without
// a word of the server.
func TestTroubleWithAsking(t *testing.T) {
	secret := secrets.Of("ask")
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	hang := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"hangs": {hang, source.ErrTimeout},
		"hangs in the middle": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, secret)
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		}, source.ErrTimeout},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, secret)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, source.ErrServer},
		"a gigabyte": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1 << 14 {
				if _, err := w.Write([]byte(strings.Repeat(secret, 2048))); err != nil {
					return
				}
			}
		}, source.ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, true, c.answer)
			g := &Repository{URL: "https://git.example.com/repo", CABundle: w.ca(), Timeout: time.Second}
			if !errors.Is(c.want, source.ErrTimeout) {
				g.Timeout = time.Minute
			}
			_, err := askFor(t, g, w.URL+"/token")
			sources.WantError(t, err, c.want)
			wantNoSecret(t, secret, printed(err))
		})
	}
	for _, p := range placesInTLS {
		t.Run(p.name, func(t *testing.T) {
			secret := secrets.Of("ask/" + p.name)
			logged := standardLog(t)
			g := p.git(t, secret)
			_, err := askFor(t, g, g.URL)
			sources.WantError(t, err, p.want)
			wantNoSecret(t, secret, printed(err)+logged.String())
		})
	}
	t.Run("in the clear", func(t *testing.T) {
		_, err := askFor(t, &Repository{URL: "https://git.example.com/repo"}, "http://127.0.0.1:1/token")
		sources.WantError(t, err, source.ErrInvalid)
	})
	t.Run("a name of this machine", func(t *testing.T) {
		resolver, _ := nameServer(t, "127.0.0.1")
		g := &Repository{URL: "https://git.example.com/repo", resolver: resolver}
		_, err := askFor(t, g, "https://tokens.example.com/token")
		sources.WantError(t, err, source.ErrAddress)
	})
}
