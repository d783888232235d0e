package token

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// A token of a GitHub App reads the repository of the URL: with keys in both forms, with
// each way to name the installation, on github.com and on a GitHub of one's own.
func TestGitHub(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		data   map[string]string
		url    string
		kind   string // orgs or users
		asked  int    // requests
		opened string // another repository, and whether the token opens it
		opens  bool
	}{
		"installation by number": {nil, "https://github.com/acme/pools.git", "orgs", 1, "https://github.com/acme/others", false},
		"key of PKCS #8":         {map[string]string{"githubAppPrivateKey": pkcs8(t, rsaKey())}, "https://github.com/acme/pools", "orgs", 1, "https://github.com/acme/others.git", false},
		"by owner":               {map[string]string{"githubAppInstallationID": "", "githubAppInstallationOwner": "acme"}, "https://github.com/acme/pools", "orgs", 2, "", false},
		"by a user":              {map[string]string{"githubAppInstallationID": "", "githubAppInstallationOwner": "acme"}, "https://github.com/acme/pools", "users", 3, "", false},
		"by the URL":             {map[string]string{"githubAppInstallationID": ""}, "https://github.com/acme/pools", "orgs", 2, "", false},
		"server of one's own":    {map[string]string{"githubAppBaseURL": w.URL}, w.URL + "/acme/pools", "orgs", 1, "", false},
		"with its whole URL":     {map[string]string{"githubAppEnterpriseBaseUrl": w.URL + "/api/v3/"}, w.URL + "/acme/pools", "orgs", 1, "", false},
		"a URL of another form":  {nil, "https://github.com/mirror/acme/pools", "orgs", 1, "https://github.com/acme/others", true},
	} {
		t.Run(name, func(t *testing.T) {
			w.Change(func() { w.App.Kind = c.kind })
			issuer, err := GitHub(app(t, c.data), c.url)
			if err != nil {
				t.Fatal(err)
			}
			before := len(w.Asked())
			token, err := issuer.Issue(t.Context(), w.repository(c.url).Ask, w.clock.Now())
			if err != nil {
				t.Fatalf("%v; %s", err, source.Hint(err))
			}
			if asked := w.Asked()[before:]; len(asked) != c.asked {
				t.Errorf("asked %v, want %d requests", asked, c.asked)
			}
			if status := w.opens(token, c.url); status != http.StatusOK {
				t.Errorf("the repository answers with %d", status)
			}
			if c.opened != "" {
				if status := w.opens(token, c.opened); (status == http.StatusOK) != c.opens {
					t.Errorf("%s answers with %d", c.opened, status)
				}
			}
			if printed := fmt.Sprintf("%v %+v %#v", token, token, issuer); secrets.Find(printed, w.Tokens()[0]) != "" || strings.Contains(printed, rsaKey().D.String()) {
				t.Errorf("printed as %s", printed)
			}
		})
	}
	if len(w.proxy.Asked()) == 0 {
		t.Error("the proxy was not asked")
	}
}

// A token is set on requests for the host that it was issued for, and on no other.
func TestTokensStayAtTheirHosts(t *testing.T) {
	w := newWorld(t)
	gitHub, err := GitHub(app(t, nil), "https://github.com/acme/pools")
	if err != nil {
		t.Fatal(err)
	}
	azure, err := Azure(w.getenv, "https://dev.azure.com/acme/p/_git/pools")
	if err != nil {
		t.Fatal(err)
	}
	aws, err := AWS(w.getenv, w.clock.Now, "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools")
	if err != nil {
		t.Fatal(err)
	}
	for own, issuer := range map[string]Issuer{"https://github.com": gitHub, "https://dev.azure.com": azure, "https://git-codecommit.eu-central-1.amazonaws.com": aws} {
		token, err := issuer.Issue(t.Context(), w.repository("https://github.com/acme/pools").Ask, w.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{"https://github.com", "https://dev.azure.com", "https://git-codecommit.eu-central-1.amazonaws.com", "https://git-codecommit.us-east-1.amazonaws.com", "https://github.com.example.com", "https://git.example.com"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to+"/acme/pools/info/refs", nil)
			if err != nil {
				t.Fatal(err)
			}
			token.SetAuth(request)
			if sent := request.Header.Get("Authorization") != ""; sent != (to == own) {
				t.Errorf("a token for %s is sent to %s: %t", own, to, sent)
			}
		}
	}
}

// Whatever is wrong with a GitHub App has one error, which says what to do.
func TestTroubleWithGitHub(t *testing.T) {
	w := newWorld(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://github.com/acme/pools"
	secret := secrets.Of("server")
	message := func(text string) string {
		return fmt.Sprintf(`{"message": %q, "documentation_url": %q}`, text+" "+secret, secret)
	}
	for name, c := range map[string]struct {
		data       map[string]string
		url        string
		wrong      func()
		fault      http.HandlerFunc
		kind       error
		says, hint string
	}{
		"key of another App":         {data: map[string]string{"githubAppPrivateKey": pkcs1(other)}, kind: source.ErrToken, says: "does not take what is signed with githubAppPrivateKey", hint: "has not been deleted there"},
		"another ID":                 {data: map[string]string{"githubAppID": "99"}, kind: source.ErrToken, says: "no GitHub App with this githubAppID", hint: "correct githubAppID"},
		"another ID, by owner":       {data: map[string]string{"githubAppID": "99", "githubAppInstallationID": ""}, kind: source.ErrToken, says: "no GitHub App with this githubAppID", hint: "correct githubAppID"},
		"no such installation":       {data: map[string]string{"githubAppInstallationID": "43"}, kind: source.ErrToken, says: "has no such installation", hint: "correct githubAppInstallationID, or install the App again"},
		"no such owner":              {data: map[string]string{"githubAppInstallationID": "", "githubAppInstallationOwner": "other"}, kind: source.ErrToken, says: "not installed for githubAppInstallationOwner", hint: "install it there"},
		"no installation at the URL": {data: map[string]string{"githubAppInstallationID": ""}, url: "https://github.com/other/pools", kind: source.ErrToken, says: "not installed for other", hint: "githubAppInstallationID"},
		"suspended":                  {wrong: func() { w.App.Suspended = true }, kind: source.ErrToken, says: "is suspended", hint: "unsuspend"},
		"repository not granted":     {url: "https://github.com/acme/secret", kind: source.ErrToken, says: "may not read the contents of the repository secret", hint: "add the repository to the installation"},
		"clock ahead":                {wrong: func() { w.Server.Now = func() time.Time { return w.clock.Now().Add(-12 * time.Minute) } }, kind: source.ErrToken, says: "which is 12m0s ahead of its own", hint: "correct the clock"},
		"clock behind":               {wrong: func() { w.Server.Now = func() time.Time { return w.clock.Now().Add(12 * time.Minute) } }, kind: source.ErrToken, says: "which is 12m0s behind its own", hint: "correct the clock"},
		"clock that nobody sees":     {fault: says(http.StatusUnauthorized, map[string]string{"Date": ""}, message("'Expiration time' claim ('exp') is too far in the future")), kind: source.ErrToken, says: "does not take the time", hint: "correct the clock"},
		"another host than GitHub's": {url: "https://git.example.com/acme/pools", data: map[string]string{"githubAppID": "99"}, kind: source.ErrToken, says: "no GitHub App", hint: "give the URL of its API as githubAppBaseURL"},
		"rate limit": {fault: says(http.StatusForbidden, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(w.clock.Now().Add(90 * time.Second).Unix())}, message("API rate limit exceeded")),
			kind: source.ErrToken, says: "is asked again in 1m30s"},
		"token of two lines":   {fault: says(http.StatusCreated, nil, `{"token": "ghs_`+secret+`\nX: y", "expires_at": "2026-11-25T02:02:03Z"}`), kind: source.ErrServer, says: "no token that can be used"},
		"token that is past":   {fault: says(http.StatusCreated, nil, `{"token": "ghs_`+secret+`", "expires_at": "2020-11-25T02:02:03Z"}`), kind: source.ErrServer, says: "no token that can be used"},
		"token without an end": {fault: says(http.StatusCreated, nil, `{"token": "ghs_`+secret+`"}`), kind: source.ErrServer, says: "no token that can be used"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{Server: w.Server, t: t, clock: w.clock, proxy: w.proxy}
			before := w.App
			defer w.Change(func() { w.App, w.Server.Now, w.Fault = before, w.clock.Now, nil })
			w.Change(func() {
				if w.Fault = c.fault; c.wrong != nil {
					c.wrong()
				}
			})
			to := url
			if c.url != "" {
				to = c.url
			}
			issuer, err := GitHub(app(t, c.data), to)
			if err != nil {
				t.Fatal(err)
			}
			_, err = issuer.Issue(t.Context(), w.repository(to).Ask, w.clock.Now())
			w.wantRefusal(err, c.kind, c.says, c.hint)
		})
	}
}

// Whatever a server of tokens does, there is one clear error, at each of them.
func TestTroubleWithIssuers(t *testing.T) {
	w := newWorld(t)
	for name, c := range faults(w) {
		for provider, issuerOf := range map[string]func() (Issuer, error){
			"github": func() (Issuer, error) { return GitHub(app(t, nil), "https://github.com/acme/pools") },
			"azure":  func() (Issuer, error) { return Azure(w.getenv, "https://dev.azure.com/acme/p/_git/pools") },
			"aws": func() (Issuer, error) {
				return AWS(w.getenv, w.clock.Now, "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools")
			},
		} {
			t.Run(provider+"/"+name, func(t *testing.T) {
				w := &world{Server: w.Server, t: t, clock: w.clock, proxy: w.proxy}
				w.Change(func() { w.Fault = c.fault })
				issuer, err := issuerOf()
				if err != nil {
					t.Fatal(err)
				}
				r := w.repository("https://github.com/acme/pools")
				r.Timeout = time.Second
				if !errors.Is(c.kind, source.ErrTimeout) {
					r.Timeout = time.Minute
				}
				_, err = issuer.Issue(t.Context(), r.Ask, w.clock.Now())
				w.wantRefusal(err, c.kind, c.says, c.hint)
			})
		}
	}
	w.Change(func() { w.Fault = nil })
	issuer, err := GitHub(app(t, nil), "https://github.com/acme/pools")
	if err != nil {
		t.Fatal(err)
	}
	// What is in between.
	for name, c := range map[string]struct {
		change     func()
		kind       error
		says, hint string
	}{
		"the proxy refuses":         {func() { w.proxy.Servers = nil }, source.ErrUnreachable, "the proxy answered with HTTP status 403", "allows connections"},
		"the proxy wants a login":   {func() { w.proxy.Password = "other" }, source.ErrUnreachable, "the proxy wants a credential", "spec.proxySecretRef"},
		"an authority of one's own": {nil, source.ErrCertificate, "signed by an unknown authority", "ca.crt"},
	} {
		servers, password := w.proxy.Servers, w.proxy.Password
		r := w.repository("https://github.com/acme/pools")
		if c.change == nil {
			r.CABundle = nil
		} else {
			c.change()
		}
		_, err = issuer.Issue(t.Context(), r.Ask, w.clock.Now())
		w.wantRefusal(err, c.kind, c.says, c.hint)
		if t.Failed() {
			t.Log(name)
		}
		w.proxy.Servers, w.proxy.Password = servers, password
	}
}
