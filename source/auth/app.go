package auth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/source"
)

// The keys of the Secret of a GitHub App.
const (
	AppID           = "githubAppID"
	AppInstallation = "githubAppInstallationID"
	AppOwner        = "githubAppInstallationOwner"
	AppPrivateKey   = "githubAppPrivateKey"
	AppBaseURL      = "githubAppBaseURL"
)

// defaultAPI is where GitHub Apps of github.com are served.
const defaultAPI = "https://api.github.com"

// An App is a GitHub App, which GitHub issues tokens to. It has no token itself.
type App struct {
	// ID is that of the App: a number, or its client ID.
	ID string
	// Installation is the number of the installation; empty where it is to be looked up.
	Installation string
	// Owner is the organization or the user in whose repositories the App is
	// installed; empty where the URL of the repository says so, or Installation is set.
	Owner string
	// API is the beginning of the URLs of GitHub's API, without a slash at its end.
	API string

	key *rsa.PrivateKey
}

// Sign signs a text as RS256 has it: RSASSA-PKCS1-v1_5 with SHA-256.
func (a *App) Sign(text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	return rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sum[:])
}

// PublicKey distinguishes the private key from others, and can be seen by anybody.
func (a *App) PublicKey() []byte { return x509.MarshalPKCS1PublicKey(&a.key.PublicKey) }

// String keeps a key out of whatever prints one.
func (a *App) String() string { return "GitHub App" }

// GoString is String, for %#v.
func (a *App) GoString() string { return a.String() }

// What stands in a URL or in a token must not change what is around it.
var (
	appID        = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	installation = regexp.MustCompile(`^[0-9]+$`)
	owner        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
)

// matches reports whether a text of at most so many bytes matches. Such a bound within the
// pattern would be compiled into as many copies of it.
func matches(pattern *regexp.Regexp, text string, bytes int) bool {
	return len(text) <= bytes && pattern.MatchString(text)
}

func (c *Credential) readApp(data map[string][]byte) error {
	if data[AppID] == nil && data[AppPrivateKey] == nil {
		for _, key := range []string{AppInstallation, AppOwner, AppBaseURL} {
			if data[key] != nil {
				return missing(AppID, "the number of the GitHub App, and "+AppPrivateKey)
			}
		}
		return nil
	}
	a := &App{ID: line(data[AppID]), Installation: line(data[AppInstallation]), Owner: line(data[AppOwner])}
	switch {
	case data[AppPrivateKey] == nil:
		return missing(AppPrivateKey, "a private key that was generated for the GitHub App")
	case data[AppID] == nil:
		return missing(AppID, "the number of the GitHub App")
	case c.HTTP():
		return invalid("it has " + AppID + " and another login: a request can have one of the two")
	case !matches(appID, a.ID, 64):
		return invalid(AppID + " is no ID of a GitHub App").WithHint("it is the number that the page of the App has as App ID, or its client ID")
	case a.Installation != "" && a.Owner != "":
		return invalid("it has " + AppInstallation + " and " + AppOwner + ": one of them says which installation is meant")
	case data[AppInstallation] != nil && !matches(installation, a.Installation, 20):
		return invalid(AppInstallation + " is no number").WithHint("it is the last part of the URL of the installation's settings")
	case data[AppOwner] != nil && !matches(owner, a.Owner, 100):
		return invalid(AppOwner + " is no name of an organization or a user")
	}
	var err error
	if a.key, err = parseRSA(data[AppPrivateKey]); err != nil {
		return err
	}
	if a.API, err = parseAPI(line(data[AppBaseURL])); err != nil {
		return err
	}
	c.App = a
	return nil
}

// minRSA is the size of the smallest key that is taken, in bits. GitHub makes 2048.
const minRSA = 2048

// parseRSA reads a private key in the form of PKCS #1, which GitHub hands out, or
// PKCS #8, which other tools make of it.
func parseRSA(text []byte) (*rsa.PrivateKey, error) {
	hint := "it is the file that GitHub gives when a private key of the App is generated; copy it whole, with its first and its last line"
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, invalid(AppPrivateKey + " is no private key in PEM form").WithHint(hint)
	}
	if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return nil, invalid(AppPrivateKey + " is encrypted").WithHint("give it without a passphrase")
	}
	var parsed any
	parsed, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	key, is := parsed.(*rsa.PrivateKey)
	switch {
	case err != nil:
		return nil, invalid(AppPrivateKey + " is no private key in PEM form").WithHint(hint)
	case !is:
		return nil, invalid(AppPrivateKey + " is no key of RSA").WithHint(hint)
	case key.N.BitLen() < minRSA:
		return nil, invalid(AppPrivateKey + " is a key of RSA that is too short to be safe").WithHint("generate a new one for the App")
	}
	return key, nil
}

// parseAPI reads where the API of a GitHub is. On a server of one's own it is below
// /api/v3, which may be left out; on a host of its own, api.<name>.ghe.com, it is not.
func parseAPI(text string) (string, error) {
	if text == "" {
		return defaultAPI, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		strings.Contains(text, "#") || strings.Contains(u.EscapedPath(), "%") || sanitize.Line(text) != text || strings.ContainsAny(text, ` \`) {
		return "", invalid(AppBaseURL + " is no URL of https").WithHint("write it like https://github.example.com/api/v3")
	}
	path := strings.TrimRight(u.Path, "/")
	if path == "" && !strings.HasPrefix(strings.ToLower(u.Hostname()), "api.") {
		path = "/api/v3"
	}
	return "https://" + u.Host + path, nil
}

// Unfit returns why a credential cannot go beside the identity of the controller, which
// a provider other than a Secret gives; nil where it can. Authorities and a certificate
// of the client can.
func (c *Credential) Unfit(provider string) error {
	if c.HTTP() || c.App != nil || c.SSH != nil {
		return source.NewError(source.ErrCredential, "", "it has a login, and spec.provider "+provider+" is one itself").
			WithHint("keep ca.crt in the Secret and nothing else, or leave spec.provider out")
	}
	return nil
}
