package controller

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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
	"strings"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/receiver"
)

// With the files of a certificate webhooks are received by TLS, and a certificate that
// replaces the first one is served without a restart.
func TestGitPushOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first := writeCertificate(t, cert, key, 1)
	w := newPushWorld(t, func(o *receiver.Options) { o.CertFile, o.KeyFile = cert, key })
	address := strings.TrimPrefix(w.url, "http://")
	w.url = "https://" + address
	trusted := x509.NewCertPool()
	trusted.AddCert(first)
	w.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}

	w.token("hook", v1.WebhookSecretType, hookToken)
	repo := newRepository(t)
	w.node("a1", role("a"))
	w.source("secure", repo.serve(t).url(), rarely, hooked("hook"))
	w.follows("secure", repo.commit(files{"pools/a.yaml": poolFile("a", "0")}))
	path := w.path("secure")
	next := repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	if status := w.push(path, hookToken); status != http.StatusAccepted {
		t.Errorf("the answer is %d", status)
	}
	w.follows("secure", next)

	serial := func(config *tls.Config) (*big.Int, error) {
		c, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		state := c.(*tls.Conn).ConnectionState()
		if state.NegotiatedProtocol == "h2" {
			t.Error("HTTP/2 is offered")
		}
		return state.PeerCertificates[0].SerialNumber, nil
	}
	if _, err := serial(&tls.Config{RootCAs: trusted, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	second := writeCertificate(t, cert, key, 2)
	trusted.AddCert(second)
	w.eventually("the second certificate is served", func() error {
		n, err := serial(&tls.Config{RootCAs: trusted, NextProtos: []string{"h2", "http/1.1"}})
		if err == nil && n.Cmp(second.SerialNumber) != 0 {
			err = fmt.Errorf("serial number %v is", n)
		}
		return err
	})
	w.client.CloseIdleConnections()
}

// writeCertificate writes a certificate for 127.0.0.1 that signs itself.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint(serial)}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
