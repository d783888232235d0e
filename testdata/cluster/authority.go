package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is the certificate authority of one cluster. It signs the
// certificates of servers and of users, and its key signs service account
// tokens as well.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate

	caPEM   []byte
	caFile  string
	keyFile string // the authority's own key
	tlsCert string // certificate and key of whatever listens on loopback
	tlsKey  string
}

// newAuthority makes an authority with its files in dir.
func newAuthority(dir string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "nodepools-test-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a := &authority{
		key:     key,
		caFile:  filepath.Join(dir, "ca.crt"),
		keyFile: filepath.Join(dir, "ca.key"),
		tlsCert: filepath.Join(dir, "server.crt"),
		tlsKey:  filepath.Join(dir, "server.key"),
	}
	der, err := a.create(template, template, key.Public())
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read the certificate authority back: %w", err)
	}
	a.caPEM = encode("CERTIFICATE", der)
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	serverCert, serverKey, err := a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	for path, data := range map[string][]byte{
		a.caFile: a.caPEM, a.keyFile: keyPEM, a.tlsCert: serverCert, a.tlsKey: serverKey,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, fmt.Errorf("write a certificate: %w", err)
		}
	}
	return a, nil
}

// user issues the certificate and key of a user, as PEM. The API server takes
// the name and the groups from the certificate's subject.
func (a *authority) user(name string, groups []string) (cert, key []byte, err error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups}, //nolint:misspell // the field has this name
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(template *x509.Certificate) (cert, key []byte, err error) {
	leaf, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.create(template, a.cert, leaf.Public())
	if err != nil {
		return nil, nil, err
	}
	key, err = encodeKey(leaf)
	return encode("CERTIFICATE", der), key, err
}

// create signs a certificate which outlives any test and any demo.
func (a *authority) create(template, parent *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(30 * 24 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", template.Subject, err)
	}
	return der, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
