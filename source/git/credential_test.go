package git

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/testdata/sources"
)

// withSecret is a repository that is read with the credential of a Secret.
func withSecret(t *testing.T, url string, data map[string]string) *Repository {
	t.Helper()
	bytes := map[string][]byte{}
	for key, value := range data {
		bytes[key] = []byte(value)
	}
	credential, err := auth.Parse(bytes)
	if err != nil {
		t.Fatal(err)
	}
	r := &Repository{URL: url, CABundle: credential.CABundle, Certificate: credential.Certificate}
	r.Login.Keys = credential.Keys(r.IsSSH())
	if credential.HTTP() {
		r.HTTPAuth = credential
	}
	if credential.SSH != nil && r.IsSSH() {
		r.SSHAuth = credential.SSH
	}
	return r
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, crypto.Signer) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) pem() string { return certPEM(a.cert) }

func certPEM(cert *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
}

func (a *authority) client() map[string]string {
	a.t.Helper()
	cert, key := a.sign(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return map[string]string{"tls.crt": certPEM(cert), "tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
}

// TestCredentialsOverHTTPS reads a repository of git http-backend behind a server
// of TLS with each kind of credential.
func TestCredentialsOverHTTPS(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	demand := func(header string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Header.Get("Authorization") != header {
					http.Error(w, canary, http.StatusUnauthorized)
					return
				}
				next.ServeHTTP(w, req)
			})
		}
	}
	password, token := serveHTTP(t, r, true, demand("Basic dTpwdw==")), serveHTTP(t, r, true, demand("Bearer "+canary))
	clients := newAuthority(t)
	mutual := serveHTTP(t, r, true, nil)
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	mutual.TLS.ClientAuth, mutual.TLS.ClientCAs = tls.RequireAndVerifyClientCert, pool
	with := func(maps ...map[string]string) map[string]string {
		all := map[string]string{"ca.crt": string(password.ca())} // all servers of httptest have one certificate
		for _, each := range maps {
			for key, value := range each {
				all[key] = value
			}
		}
		return all
	}
	own := newAuthority(t)
	serveCert := func(template *x509.Certificate) *webServer {
		cert, key := own.sign(template)
		w := serveHTTP(t, r, true, nil)
		w.TLS.Certificates = []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}
		return w
	}
	localhost := []string{"localhost"}
	good := serveCert(&x509.Certificate{DNSNames: localhost})
	expired := serveCert(&x509.Certificate{DNSNames: localhost, NotAfter: time.Now().Add(-time.Minute)})
	other := serveCert(&x509.Certificate{DNSNames: []string{"git.example.com"}})
	byName := func(w *webServer) string { return strings.Replace(w.repoURL(), "127.0.0.1", "localhost", 1) }
	for name, c := range map[string]struct {
		url  string
		data map[string]string
		want error
	}{
		"password":                   {password.repoURL(), with(map[string]string{"username": "u", "password": "pw"}), nil},
		"wrong password":             {password.repoURL(), with(map[string]string{"username": "u", "password": canary}), source.ErrUnauthorized},
		"token":                      {token.repoURL(), with(map[string]string{"bearerToken": canary}), nil},
		"wrong token":                {token.repoURL(), with(map[string]string{"bearerToken": canary + "x"}), source.ErrUnauthorized},
		"certificate of the client":  {mutual.repoURL(), with(clients.client()), nil},
		"no certificate":             {mutual.repoURL(), with(), source.ErrUnauthorized},
		"certificate of a stranger":  {mutual.repoURL(), with(newAuthority(t).client()), source.ErrUnauthorized},
		"own authority":              {byName(good), map[string]string{"ca.crt": own.pem()}, nil},
		"authority that is not ours": {byName(good), map[string]string{"ca.crt": clients.pem()}, source.ErrCertificate},
		"expired certificate":        {byName(expired), map[string]string{"ca.crt": own.pem()}, source.ErrCertificate},
		"certificate of a namesake":  {byName(other), map[string]string{"ca.crt": own.pem()}, source.ErrCertificate},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), withSecret(t, c.url, c.data))
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
}

// loginKey is a key to log in with, and as the Secret has it.
func loginKey(t *testing.T, key any, passphrase string) (ssh.Signer, string) {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key.(crypto.PrivateKey), "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key.(crypto.PrivateKey), "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
}

// hostSigner is a host key that is not of the kind that servers offer first.
func hostSigner(t *testing.T, key crypto.Signer) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func ecdsaKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestKnownHosts reads a repository by ssh with known_hosts in all its forms.
func TestKnownHosts(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	login, identity := loginKey(t, ecdsaKey(t), "")
	first, second := hostSigner(t, rsaKey(t)), hostSigner(t, ecdsaKey(t))
	s := (&sshServer{login: login, host: second}).start(t, first)
	stranger, authorityKey := newSigner(t), newSigner(t)
	certified := (&sshServer{login: login, host: hostCertificate(t, authorityKey, "127.0.0.1")}).start(t)
	line := func(host string, key ssh.Signer) string {
		return xknownhosts.Line([]string{host}, key.PublicKey()) + "\n"
	}
	bare := func(key ssh.Signer) string { return string(ssh.MarshalAuthorizedKey(key.PublicKey())) }
	port := s.address[strings.LastIndex(s.address, ":")+1:]
	for name, c := range map[string]struct {
		server *sshServer
		known  string
		want   string // in the error; empty for none
	}{
		"the key":                  {s, line(s.address, second), ""},
		"the other key":            {s, line(s.address, first), ""},
		"both keys":                {s, line(s.address, first) + line(s.address, second), ""},
		"hashed":                   {s, xknownhosts.HashHostname(xknownhosts.Normalize(s.address)) + " " + bare(second), ""},
		"several hosts":            {s, "git.example.com,[127.0.0.1]:" + port + " " + bare(second), ""},
		"pattern":                  {s, "[127.0.0.*]:" + port + " " + bare(second), ""},
		"comments and line breaks": {s, "# ours\r\n\r\n" + strings.ReplaceAll(line(s.address, second), "\n", "\r\n"), ""},
		"authority":                {certified, "@cert-authority * " + bare(authorityKey), ""},

		"other port":              {s, line("127.0.0.1:22", second), "is not known (ecdsa-sha2-nistp256 SHA256:"},
		"other host":              {s, line("git.example.com:"+port, second), "is not known"},
		"changed":                 {s, line(s.address, hostSigner(t, ecdsaKey(t))), "has another host key"},
		"revoked":                 {s, "@revoked [127.0.0.1]:" + port + " " + bare(second) + line(s.address, second), "is revoked"},
		"excluded by a pattern":   {s, "!127.0.0.1,* " + bare(second), "is not known"},
		"authority of a stranger": {certified, "@cert-authority * " + bare(stranger), "the server's host key"},
		"key of the authority":    {certified, line(certified.address, stranger), "no host key of a kind that is known"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), withSecret(t, c.server.repoURL(r), map[string]string{"identity": identity, "known_hosts": c.known}))
			if c.want == "" {
				if err != nil {
					t.Errorf("%v\n%s", err, c.known)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			if source.Reason(err) != "HostKeyUntrusted" {
				t.Errorf("the reason is %s", source.Reason(err))
			}
		})
	}
}

// hostCertificate is a host key with a certificate of an authority.
func hostCertificate(t *testing.T, authority ssh.Signer, host string) ssh.Signer {
	t.Helper()
	key := newSigner(t)
	cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{host}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}
