package token

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/source/git"
	"github.com/nodepools/nodepools/testdata/issuers"
	"github.com/nodepools/nodepools/testdata/proxies"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// clock is one that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 25, 1, 2, 3, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rsaKey is made once: it takes time.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// pkcs1 and pkcs8 are the forms of a private key.
func pkcs1(key *rsa.PrivateKey) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

func pkcs8(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// world is a server of every kind, behind a proxy that knows it by its names, at a time
// that tests move.
type world struct {
	*issuers.Server
	t     *testing.T
	clock *clock
	proxy *proxies.Proxy
	env   map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: issuers.New(t), t: t, clock: newClock()}
	w.proxy = proxies.HTTP(t, &proxies.Proxy{Servers: w.Names(), Username: "user", Password: "proxy"}, nil)
	assertion := "eyJhbGciOiJSUzI1NiJ9." + secrets.Of("projected")
	w.Change(func() {
		w.Server.Now = w.clock.Now
		w.App = issuers.App{ID: "1234", Key: &rsaKey().PublicKey, Installation: 42, Owner: "acme", Kind: "orgs", Repositories: []string{"pools", "others"}}
		w.Azure = issuers.AzureIdentity{Tenant: "tenant-1", Client: "client-1", Assertion: assertion}
		w.AWS = issuers.AWSIdentity{Role: "arn:aws:iam::111122223333:role/nodepools", Assertion: assertion}
		w.Git = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "it is "+r.URL.Path) })
	})
	file := w.projected(assertion)
	w.env = map[string]string{
		"AZURE_CLIENT_ID": "client-1", "AZURE_TENANT_ID": "tenant-1", "AZURE_FEDERATED_TOKEN_FILE": file, "AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/",
		"AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/nodepools", "AWS_WEB_IDENTITY_TOKEN_FILE": file,
	}
	return w
}

func (w *world) getenv(name string) string { return w.env[name] }

// projected is a file with a token of a ServiceAccount.
func (w *world) projected(token string) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// repository is one that is read by the proxy.
func (w *world) repository(url string) *git.Repository {
	w.t.Helper()
	proxy, err := auth.ParseProxy(map[string][]byte{"address": []byte("http://" + w.proxy.Address), "username": []byte("user"), "password": []byte("proxy")})
	if err != nil {
		w.t.Fatal(err)
	}
	return &git.Repository{URL: url, CABundle: w.CA(), Proxy: proxy.For, Timeout: 5 * time.Second}
}

// app is a GitHub App of a Secret, with some of its keys changed; an empty one is left
// out.
func app(t testing.TB, changed map[string]string) *auth.App {
	t.Helper()
	data := map[string][]byte{"githubAppID": []byte("1234"), "githubAppInstallationID": []byte("42"), "githubAppPrivateKey": []byte(pkcs1(rsaKey()))}
	for key, value := range changed {
		if data[key] = []byte(value); value == "" {
			delete(data, key)
		}
	}
	credential, err := auth.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return credential.App
}

// opens sends a request with a token to a server of Git, and returns the status.
func (w *world) opens(token *Token, url string) int {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	token.SetAuth(request)
	response, err := w.repository(url).Ask(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// wantRefusal checks an error: what it says, its hint, and that nothing of what was sent,
// or of what a server has said, is in it.
func (w *world) wantRefusal(err, kind error, says, hint string) {
	w.t.Helper()
	if err == nil {
		w.t.Fatalf("there is a token; the error should say %q", says)
	}
	text := fmt.Sprintf("%v %+v %#v %s", err, err, err, source.Hint(err))
	if !strings.Contains(err.Error(), says) || !strings.Contains(source.Hint(err), hint) || source.Reason(err) != source.Reason(kind) {
		w.t.Errorf("%s: %v\nhint: %s\nshould be %s, say %q, and have the hint %q", source.Reason(err), err, source.Hint(err), source.Reason(kind), says, hint)
	}
	known := append(w.Tokens(), w.AWS.Assertion, secrets.Of("server"), rsaKey().D.String())
	for _, secret := range known {
		if found := secrets.Find(text, secret); found != "" {
			w.t.Errorf("a secret got out, %s: %s", found, text)
		}
	}
	if forged := secrets.Forgery(err.Error() + source.Hint(err)); forged != "" {
		w.t.Error(forged)
	}
}

// says is a fault that answers with a status and a hostile text.
func says(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// faults are answers that no issuer gives, whichever it is.
func faults(w *world) map[string]struct {
	fault            http.HandlerFunc
	kind             error
	says, hint, name string
} {
	hostile := secrets.Hostile(secrets.Of("server"))
	released := make(chan struct{})
	w.t.Cleanup(func() { close(released) })
	return map[string]struct {
		fault            http.HandlerFunc
		kind             error
		says, hint, name string
	}{
		"hangs": {fault: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}, kind: source.ErrTimeout, says: "did not finish in time", hint: "check that the server answers"},
		"hangs in the middle": {fault: func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(http.StatusCreated)
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}, kind: source.ErrTimeout, says: "did not finish in time", hint: "check that the server answers"},
		"sends no end": {fault: func(rw http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := rw.Write([]byte(strings.Repeat(hostile, 1000))); err != nil {
					return
				}
			}
		}, kind: source.ErrServer, says: "more than 64 KiB"},
		"garbage":                {fault: says(http.StatusCreated, nil, hostile), kind: source.ErrServer, says: "has no token that can be used", hint: "what is in between"},
		"nothing":                {fault: says(http.StatusOK, nil, ""), kind: source.ErrServer, says: "has no token that can be used", hint: "what is in between"},
		"redirect":               {fault: says(http.StatusFound, map[string]string{"Location": "https://" + secrets.Of("server") + ".invalid/"}, hostile), kind: source.ErrRedirect, says: "redirects (HTTP status 302)"},
		"failure":                {fault: says(http.StatusBadGateway, nil, hostile), kind: source.ErrServer, says: "HTTP status 502", hint: "it is tried again"},
		"unknown refusal":        {fault: says(http.StatusGone, nil, hostile), kind: source.ErrToken, says: "issues no token (HTTP status 410)"},
		"too many requests":      {fault: says(http.StatusTooManyRequests, map[string]string{"Retry-After": "30"}, hostile), kind: source.ErrToken, says: "(HTTP status 429), and is asked again in 30s", hint: "what else asks"},
		"too many, without end":  {fault: says(http.StatusTooManyRequests, map[string]string{"Retry-After": "999999999"}, hostile), kind: source.ErrToken, says: "is asked again in 10m0s"},
		"busy until a date":      {fault: says(http.StatusServiceUnavailable, map[string]string{"Retry-After": w.clock.Now().Add(2 * time.Minute).Format(http.TimeFormat)}, hostile), kind: source.ErrToken, says: "is asked again in 2m0s"},
		"forbidden for a moment": {fault: says(http.StatusForbidden, map[string]string{"Retry-After": "60"}, hostile), kind: source.ErrToken, says: "(HTTP status 403), and is asked again in 1m0s"},
	}
}
