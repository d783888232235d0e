// Package auth makes the credential of a repository from the keys of a Secret, which
// are those of Flux, or from a folder that has them as files. Start with [Parse].
//
// A credential is for the URLs within its prefix and for no other: whoever may name a
// Secret in a source does not choose where it is sent. No error, and no text form of a
// type of this package, has a value of the Secret in it.
package auth

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/source"
)

// The keys of a Secret.
const (
	Username    = "username"
	Password    = "password"
	BearerToken = "bearerToken"
	CA          = "ca.crt"
	Certificate = "tls.crt"
	PrivateKey  = "tls.key"
	Identity    = "identity"
	KnownHosts  = "known_hosts"
)

// aliases are names that Flux had before for some of the keys, and those of Argo CD.
var aliases = map[string]string{
	"caFile": CA, "certFile": Certificate, "keyFile": PrivateKey,
	"sshPrivateKey": Identity, "tlsClientCertData": Certificate, "tlsClientCertKey": PrivateKey, "githubAppEnterpriseBaseUrl": AppBaseURL,
}

// keys are all that can be used; identity.pub follows from identity.
var keys = []string{
	Username, Password, BearerToken, CA, Certificate, PrivateKey, Identity, KnownHosts,
	AppID, AppInstallation, AppOwner, AppPrivateKey, AppBaseURL,
}

// A Credential is how to log in at a server of Git, and what is known of it.
type Credential struct {
	username, password, token string
	hasLogin                  bool
	// CABundle holds certificate authorities in PEM form that are trusted beside those
	// of the system; nil for none.
	CABundle []byte
	// Certificate is the client's own; nil for none.
	Certificate *tls.Certificate
	// SSH is the login by ssh; nil for none.
	SSH *SSH
	// App is the GitHub App that tokens for https are issued to; nil for none.
	App *App
}

// Parse reads a credential from the data of a Secret. An error names the key at fault.
func Parse(data map[string][]byte) (*Credential, error) {
	data = withoutAliases(data)
	c := &Credential{}
	for _, read := range []func(map[string][]byte) error{c.readLogin, c.readToken, c.readApp, c.readCA, c.readCertificate, c.readSSH} {
		if err := read(data); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(keys, func(key string) bool { return data[key] != nil }) {
		return nil, invalid("it has none of the keys of a credential").WithHint("give it " + strings.Join(keys, ", ") + ": those that the server asks for")
	}
	return c, nil
}

func withoutAliases(data map[string][]byte) map[string][]byte {
	plain := make(map[string][]byte, len(data))
	for key, value := range data {
		if alias := aliases[key]; alias != "" && data[alias] == nil {
			key = alias
		}
		plain[key] = value
	}
	return plain
}

// For returns why the credential is of no use for a URL, which its prefix covers; nil
// where it is of use.
func (c *Credential) For(rawURL string) error {
	ssh := strings.HasPrefix(rawURL, "ssh://")
	switch {
	case ssh && c.SSH == nil:
		return missing(Identity, "the private key of ssh; the URL of the source is one of ssh")
	case !ssh && c.SSH != nil && !c.HTTP() && c.App == nil:
		return invalid("it has a key of ssh, and the URL of the source is one of https").WithHint("give https a Secret of its own: beside " + Identity + ", " + Password + " is the passphrase of the key")
	case !ssh && !c.HTTP() && c.App == nil && c.CABundle == nil && c.Certificate == nil:
		return missing(Username, "and "+Password+", or "+BearerToken+": the URL of the source is one of https")
	}
	return nil
}

// HTTP reports whether the credential has something to say in a request.
func (c *Credential) HTTP() bool { return c.hasLogin || c.token != "" }

// Keys names the keys that log in by ssh, or by https, for who has to correct them; it is
// empty where there are none.
func (c *Credential) Keys(ssh bool) string {
	switch {
	case ssh && c.SSH != nil:
		return Identity
	case ssh:
		return ""
	case c.token != "":
		return BearerToken
	case c.hasLogin:
		return Username + " and " + Password
	case c.Certificate != nil:
		return Certificate + " and " + PrivateKey
	}
	return ""
}

// SetAuth adds the credential to a request.
func (c *Credential) SetAuth(request *http.Request) {
	switch {
	case c.token != "":
		request.Header.Set("Authorization", "Bearer "+c.token)
	case c.hasLogin:
		request.SetBasicAuth(c.username, c.password)
	}
}

// String keeps a credential out of whatever prints one.
func (c *Credential) String() string { return "credential" }

// GoString is String, for %#v.
func (c *Credential) GoString() string { return c.String() }

func (c *Credential) readLogin(data map[string][]byte) error {
	username, password := line(data[Username]), line(data[Password])
	switch {
	case data[Identity] != nil:
		return nil // password is the passphrase of the key
	case data[Username] == nil && data[Password] == nil:
		return nil
	case data[Password] == nil:
		return missing(Password, "that of "+Username+"; it may be empty where the user name is a token")
	case data[Username] == nil:
		return missing(Username, "that of "+Password+"; servers that take a token as the password ignore it, so it may be git")
	case username == "":
		return invalid(Username + " is empty")
	case strings.Contains(username, ":"):
		return invalid(Username + " has a colon in it, which ends a user name in HTTP")
	}
	c.username, c.password, c.hasLogin = username, password, true
	return nil
}

func (c *Credential) readToken(data map[string][]byte) error {
	if data[BearerToken] == nil {
		return nil
	}
	c.token = line(data[BearerToken])
	switch {
	case c.hasLogin:
		return invalid("it has " + BearerToken + " and " + Username + ": a request can have one of the two")
	case c.token == "":
		return invalid(BearerToken + " is empty")
	case strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return invalid(BearerToken + " has characters that no token has, such as a space or a line break")
	}
	return nil
}

func (c *Credential) readCA(data map[string][]byte) error {
	if data[CA] == nil {
		return nil
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data[CA]) {
		return invalid(CA + " has no certificate in PEM form")
	}
	c.CABundle = data[CA]
	return nil
}

func (c *Credential) readCertificate(data map[string][]byte) error {
	switch {
	case data[Certificate] == nil && data[PrivateKey] == nil:
		return nil
	case data[PrivateKey] == nil:
		return missing(PrivateKey, "that of "+Certificate)
	case data[Certificate] == nil:
		return missing(Certificate, "that of "+PrivateKey)
	}
	pair, err := tls.X509KeyPair(data[Certificate], data[PrivateKey])
	if err != nil {
		return invalid(Certificate + " and " + PrivateKey + " are no pair of a certificate and its key in PEM form")
	}
	c.Certificate = &pair
	return nil
}

// line is a value without the line break that an editor leaves at the end of a file.
func line(value []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
}

func invalid(text string) *source.Error { return source.NewError(source.ErrCredential, "", text) }

func missing(key, what string) *source.Error {
	return invalid(fmt.Sprintf("the key %s is missing", key)).WithHint("add " + key + ": " + what)
}
