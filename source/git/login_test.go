package git

import (
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// What to do about a credential names the place that it is from, and the key of it. Where
// there is none it names the field that takes one.
func TestHintsNameTheCredential(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	refusing := serve(t, true, status(http.StatusUnauthorized))
	forbidding, hiding := serve(t, true, status(http.StatusForbidden)), serve(t, true, status(http.StatusNotFound))
	own := newAuthority(t)
	serveCert := func(template *x509.Certificate) string {
		cert, key := own.sign(template)
		w := serveHTTP(t, r, true, nil)
		w.TLS.Certificates[0].Certificate, w.TLS.Certificates[0].PrivateKey = [][]byte{cert.Raw}, key
		return strings.Replace(w.repoURL(), "127.0.0.1", "localhost", 1)
	}
	login, identity := loginKey(t, ecdsaKey(t), "")
	_, stranger := loginKey(t, ecdsaKey(t), "")
	s := (&sshServer{login: login, host: newSigner(t)}).start(t)
	known := func(key ssh.Signer) string { return xknownhosts.Line([]string{s.address}, key.PublicKey()) }
	ca := string(refusing.ca())
	for name, c := range map[string]struct {
		url  string
		data map[string]string // nil for no credential
		hint string
	}{
		"password":                  {refusing.repoURL(), map[string]string{"ca.crt": ca, "username": "u", "password": canary}, "check username and password of Secret a/git, and what may be read with it"},
		"password of no use here":   {forbidding.repoURL(), map[string]string{"ca.crt": ca, "username": "u", "password": canary}, "check username and password of Secret a/git, and what may be read with it"},
		"repository that is hidden": {hiding.repoURL(), map[string]string{"ca.crt": ca, "username": "u", "password": canary}, "check the URL, and what may be read with username and password of Secret a/git: many servers answer like this for a repository that may not"},
		"token":                     {refusing.repoURL(), map[string]string{"ca.crt": ca, "bearerToken": canary}, "check bearerToken of Secret a/git, and what may be read with it"},
		"no login in the Secret":    {refusing.repoURL(), map[string]string{"ca.crt": ca}, "the repository is private, or does not exist: give username and password, or bearerToken, in Secret a/git, or check the URL"},
		"no authority":              {refusing.repoURL(), map[string]string{"bearerToken": canary}, "give the certificate authority that signed the server's certificate, as ca.crt of Secret a/git"},
		"no Secret":                 {refusing.repoURL(), nil, "give the certificate authority that signed the server's certificate, as ca.crt of a Secret that spec.secretRef names"},
		"expired certificate":       {serveCert(&x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(-time.Minute)}), map[string]string{"ca.crt": own.pem()}, "have the server's certificate renewed, and check the clock of this machine"},
		"certificate of a namesake": {serveCert(&x509.Certificate{DNSNames: []string{"git.example.com"}}), map[string]string{"ca.crt": own.pem()}, "use a host name in the URL that the certificate is for, or have the certificate issued for this one"},
		"key of ssh":                {s.repoURL(r), map[string]string{"identity": stranger, "known_hosts": known(s.host)}, "check identity of Secret a/git, and what may be read with it"},
		"another host key":          {s.repoURL(r), map[string]string{"identity": identity, "known_hosts": known(login)}, "give the server's host key, from a place that you trust, as known_hosts of Secret a/git"},
		"changed host key":          {s.repoURL(r), map[string]string{"identity": identity, "known_hosts": known(newSigner(t))}, "compare the fingerprint with what the server's administrator publishes, and then correct known_hosts of Secret a/git"},
		"ssh without a Secret":      {s.repoURL(r), nil, "give a private key and the server's host key, from a place that you trust, as identity and known_hosts of a Secret that spec.secretRef names"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Repository{URL: c.url}
			if c.data != nil {
				g = withSecret(t, c.url, c.data)
				g.Login.Place = "Secret a/git"
			}
			_, err := both(t.Context(), g)
			if got := source.Hint(err); got != c.hint {
				t.Errorf("%v\nhint %q\nwant %q", err, got, c.hint)
			}
		})
	}
}
