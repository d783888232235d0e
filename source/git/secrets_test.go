package git

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/secrets"
	"github.com/nodepools/nodepools/testdata/sources"
)

// place is where a credential can be configured, or where a server can say
// something. A new one is a line in one of the lists below and in the files
// beside this one.
type place struct {
	name, reason string
	// git puts the secret there. What it returns cannot be read.
	git  func(t *testing.T, secret string) *Repository
	want error
}

// I10: whatever fails, the error and its hint hold nothing of a credential and
// nothing of what a server said, and nothing of it is logged.
func TestSecrets(t *testing.T) {
	for group, places := range map[string][]place{
		"auth": placesOfAuth, "url": placesInURL, "http": placesInHTTP, "git": placesInGit, "ssh": placesInSSH, "tls": placesInTLS,
	} {
		for _, p := range places {
			t.Run(group+"/"+p.name, func(t *testing.T) {
				secret := secrets.Of(group + "/" + p.name)
				logged := standardLog(t)
				g := p.git(t, secret)
				_, err := both(t.Context(), g)
				sources.WantError(t, err, p.want)
				wantNoSecret(t, secret, printed(err)+logged.String())
				if t.Failed() {
					t.Logf("the place is in the list because %s", p.reason)
				}
			})
		}
	}
}

// printed is everything that a caller could print of an error, and of those that it
// wraps.
func printed(err error) string {
	text := fmt.Sprintf("%v %+v %#v %s %s\n", err, err, err, source.Hint(err), source.Reason(err))
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		for _, each := range many.Unwrap() {
			text += fmt.Sprintf("%v %+v %#v\n", each, each, each)
		}
	}
	return text
}

func wantNoSecret(t *testing.T, secret, text string) {
	t.Helper()
	if found := secrets.Find(text, secret); found != "" {
		t.Errorf("the secret %s got out, %s, in:\n%s", secret, found, text)
	}
}

// standardLog catches what the standard library logs by itself.
func standardLog(t *testing.T) *lockedBuffer {
	var caught lockedBuffer
	before := log.Writer()
	log.SetOutput(&caught)
	t.Cleanup(func() { log.SetOutput(before) })
	return &caught
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// echo refuses every request and says back all that it was sent, the credential
// in clear too, in its status, its headers and its body.
func echo(t *testing.T, code int) *webServer {
	return serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Authorization")
		if user, password, ok := r.BasicAuth(); ok {
			sent += " " + user + " " + password
		}
		if sent == "" {
			t.Error("no credential was sent: this place proves nothing")
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="`+sent+`"`)
		w.Header().Set("Set-Cookie", "session="+url.QueryEscape(sent))
		w.Header().Set("Location", r.URL.Path+"?"+url.Values{"credential": {sent}}.Encode())
		w.WriteHeader(code)
		fmt.Fprintln(w, sent)
	}))
}

// overHTTPS is a place in a credential for https, with a server that answers it
// by a status.
func overHTTPS(code int, auth func(secret string) HTTPAuth) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		w := echo(t, code)
		return &Repository{URL: w.repoURL(), CABundle: w.ca(), HTTPAuth: auth(secret)}
	}
}

func basic(secret string) HTTPAuth {
	return &githttp.BasicAuth{Username: "git", Password: secret}
}

// overSSH is a place in a credential for ssh, at a server that takes none but
// its own key.
func overSSH(auth func(secret string, known gitssh.HostKeyCallbackHelper) gitssh.AuthMethod) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		s := serveSSH(t)
		known := gitssh.HostKeyCallbackHelper{HostKeyCallback: ssh.FixedHostKey(s.host.PublicKey())}
		return &Repository{URL: "ssh://git@" + s.address + "/repo", SSHAuth: goGit{auth(secret, known)}}
	}
}

var placesOfAuth = []place{
	{"password refused", "the server says it back", overHTTPS(401, basic), source.ErrUnauthorized},
	{"password forbidden", "the server says it back", overHTTPS(403, basic), source.ErrUnauthorized},
	{"password and no repository", "the server says it back", overHTTPS(404, basic), source.ErrRepositoryMissing},
	{"password and a failure", "the server says it back", overHTTPS(500, basic), source.ErrServer},
	{"password and a redirect", "the server puts it into the place to go to", overHTTPS(302, basic), source.ErrRedirect},
	{"password and a page", "200, and no repository", overHTTPS(200, basic), source.ErrServer},
	{"user name", "F20: with some servers a token is the user name", overHTTPS(401, func(secret string) HTTPAuth {
		return &githttp.BasicAuth{Username: secret, Password: "x-oauth-basic"}
	}), source.ErrUnauthorized},
	{"token", "a bearer token", overHTTPS(401, func(secret string) HTTPAuth {
		return &githttp.TokenAuth{Token: secret}
	}), source.ErrUnauthorized},
	{"token with a line break", "a file with a token often ends with one, which no header takes", func(t *testing.T, secret string) *Repository {
		w := serve(t, true, http.NotFoundHandler())
		return &Repository{URL: w.repoURL(), CABundle: w.ca(), HTTPAuth: &githttp.TokenAuth{Token: secret + "\n"}}
	}, source.ErrServer},
	{"password over http", "it is not sent", func(_ *testing.T, secret string) *Repository {
		return &Repository{URL: "http://localhost/repo", HTTPAuth: basic(secret)}
	}, source.ErrInvalid},
	{"password, nobody there", "no connection", func(t *testing.T, secret string) *Repository {
		return &Repository{URL: "https://" + closed(t) + "/repo", HTTPAuth: basic(secret)}
	}, source.ErrUnreachable},
	{"password, another's certificate", "the handshake fails", func(t *testing.T, secret string) *Repository {
		return &Repository{URL: serve(t, true, http.NotFoundHandler()).repoURL(), HTTPAuth: basic(secret)}
	}, source.ErrCertificate},
	{"password for https given to ssh", "it is of another kind", func(t *testing.T, secret string) *Repository {
		return &Repository{URL: "ssh://git@" + closed(t) + "/repo", HTTPAuth: basic(secret)}
	}, source.ErrInvalid},
	{"password for ssh given to https", "it is of another kind", func(t *testing.T, secret string) *Repository {
		return &Repository{URL: "https://" + closed(t) + "/repo", SSHAuth: goGit{&gitssh.Password{User: "git", Password: secret}}}
	}, source.ErrInvalid},
	{"password for https given to file", "nobody asks for it", func(_ *testing.T, secret string) *Repository {
		return &Repository{URL: "file:///nowhere/at/all", HTTPAuth: basic(secret)}
	}, source.ErrRepositoryMissing},
	{"certificate authority", "somebody gave the key in its stead", func(_ *testing.T, secret string) *Repository {
		return &Repository{URL: "https://localhost/repo", CABundle: []byte("-----BEGIN PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte(secret)))}
	}, source.ErrInvalid},

	{"ssh password", "refused", overSSH(func(secret string, known gitssh.HostKeyCallbackHelper) gitssh.AuthMethod {
		return &gitssh.Password{User: "git", Password: secret, HostKeyCallbackHelper: known}
	}), source.ErrUnauthorized},
	{"ssh user", "refused; it may be a token", overSSH(func(secret string, known gitssh.HostKeyCallbackHelper) gitssh.AuthMethod {
		return &gitssh.Password{User: secret, Password: "x", HostKeyCallbackHelper: known}
	}), source.ErrUnauthorized},
	{"ssh password that is asked for", "the callback fails and says why", overSSH(func(secret string, known gitssh.HostKeyCallbackHelper) gitssh.AuthMethod {
		return &gitssh.PasswordCallback{User: "git", HostKeyCallbackHelper: known, Callback: func() (string, error) {
			return "", errors.New("the vault does not know " + secret)
		}}
	}), source.ErrUnauthorized},
	{"ssh key that is asked for", "the callback fails and says why", overSSH(func(secret string, known gitssh.HostKeyCallbackHelper) gitssh.AuthMethod {
		return &gitssh.PublicKeysCallback{User: "git", HostKeyCallbackHelper: known, Callback: func() ([]ssh.Signer, error) {
			return nil, errors.New("the passphrase is not " + secret)
		}}
	}), source.ErrUnreachable},
	{"ssh answer to a question", "the server asks for a password of its own", overSSH(func(secret string, known gitssh.HostKeyCallbackHelper) gitssh.AuthMethod {
		return &gitssh.KeyboardInteractive{User: "git", HostKeyCallbackHelper: known, Challenge: func(string, string, []string, []bool) ([]string, error) {
			return []string{secret}, errors.New("the answer is not " + secret)
		}}
	}), source.ErrUnauthorized},
	{"ssh host key", "the callback says what it knows", overSSH(func(secret string, _ gitssh.HostKeyCallbackHelper) gitssh.AuthMethod {
		return &gitssh.Password{User: "git", Password: secret, HostKeyCallbackHelper: gitssh.HostKeyCallbackHelper{
			HostKeyCallback: func(host string, _ net.Addr, _ ssh.PublicKey) error { return errors.New(host + " is not " + secret) },
		}}
	}), source.ErrHostKey},
}

// inURL is a place in the URL itself, which has to be refused before anything is
// contacted.
func inURL(format string) func(*testing.T, string) *Repository {
	return func(_ *testing.T, secret string) *Repository {
		return &Repository{URL: fmt.Sprintf(format, url.QueryEscape(secret))}
	}
}

var placesInURL = []place{
	{"https password", "the classic", inURL("https://user:%s@example.com/a"), source.ErrInvalid},
	{"https user", "F20", inURL("https://%s@example.com/a"), source.ErrInvalid},
	{"https password with a slash", "the parser takes it for a port", inURL("https://user:%s/x@example.com/a"), source.ErrInvalid},
	{"https password with a line break", "copied with it", inURL("https://user:%s\n@example.com/a"), source.ErrInvalid},
	{"https password with a bad escape", "the parser's error repeats it", inURL("https://user:%s%%zz@example.com/a"), source.ErrInvalid},
	{"https in large letters", "the scheme in another case", inURL("HTTPS://user:%s@example.com/a"), source.ErrInvalid},
	{"http password", "the classic", inURL("http://user:%s@example.com/a"), source.ErrInvalid},
	{"ssh password", "no program takes one from there", inURL("ssh://git:%s@example.com/a"), source.ErrInvalid},
	{"short form", "user:password@host:path", inURL("git:%s@example.com:a"), source.ErrInvalid},
	{"one slash", "the parser finds no host", inURL("https:/user:%s@example.com/a"), source.ErrInvalid},
	{"no slash", "the parser finds no host", inURL("https:user:%s@example.com/a"), source.ErrInvalid},
	{"no scheme", "the scheme was forgotten", inURL("user:%s@example.com/a"), source.ErrInvalid},
	{"file", "with a user", inURL("file://user:%s@/srv/a"), source.ErrInvalid},
	{"unknown scheme", "not spoken here", inURL("svn+https://user:%s@example.com/a"), source.ErrInvalid},
	{"query", "a token is often there", inURL("https://example.com/a?private_token=%s"), source.ErrInvalid},
	{"fragment", "a token may be there", inURL("https://example.com/a#access_token=%s"), source.ErrInvalid},
	{"URL within the URL", "a mirror that takes another server's address as a path", inURL("https://mirror.invalid/https://user:%s@example.com/a"), source.ErrInvalid},
	{"user of the URL within", "the same", inURL("https://mirror.invalid/https://%s@example.com/a"), source.ErrInvalid},
	{"ssh user", "a token of a hosting service; it is in the object, but not in what is said of it", func(t *testing.T, secret string) *Repository {
		return &Repository{URL: "ssh://" + url.QueryEscape(secret) + "@" + closed(t) + "/a", SSHAuth: serveSSH(t).auth()}
	}, source.ErrUnreachable},
}
