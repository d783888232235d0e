package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// gitUser is whose token the server asks for.
const gitUser = "git"

// private is what it takes to reach the repository: a certificate authority of its own,
// and a token. Both are files, so that the token is on no command line and on no screen.
type private struct {
	caFile, tokenFile, credentialFile string
	certificate                       tls.Certificate
	token                             string
}

// newPrivate makes an authority and a token, with their files in dir.
func newPrivate(dir string) (*private, error) {
	p := &private{
		caFile: filepath.Join(dir, "ca.crt"), tokenFile: filepath.Join(dir, "token"), credentialFile: filepath.Join(dir, "git-credentials"),
		token: rand.Text(),
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the Git server: %w", err)
	}
	// One certificate that is its own authority.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "Git server of the demo"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the Git server: %w", err)
	}
	p.certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	for file, content := range map[string][]byte{
		p.caFile: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), p.tokenFile: []byte(p.token),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// admit lets only those in who have the token.
func (p *private) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(password), []byte(p.token)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="demo"`)
			http.Error(w, "a token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// settings are those with which git reaches the server at an address.
func (p *private) settings(address string) ([]string, error) {
	credential := fmt.Sprintf("https://%s:%s@%s\n", gitUser, p.token, address)
	if err := os.WriteFile(p.credentialFile, []byte(credential), 0o600); err != nil {
		return nil, err
	}
	return []string{"http.sslCAInfo=" + p.caFile, "credential.helper=store --file=" + quoted(p.credentialFile)}, nil
}
