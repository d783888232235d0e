package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/nodepools/nodepools/source"
)

const canary = "s3cr3t-canary"

func privateKey(t testing.TB, key any, passphrase string) []byte {
	t.Helper()
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}

func ed25519Key(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certificate is a client's own and its key, in PEM form.
func certificate(t testing.TB) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
}

func TestParse(t *testing.T) {
	cert, key := certificate(t)
	otherCert, _ := certificate(t)
	identity, locked := privateKey(t, ed25519Key(t), ""), privateKey(t, ed25519Key(t), canary)
	short, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	known := []byte(xknownhosts.Line([]string{"git.example.com"}, mustPublic(t, ed25519Key(t))) + "\n")
	type secret = map[string][]byte
	text := func(s string) []byte { return []byte(s) }
	for name, c := range map[string]struct {
		data secret
		want string // in the error; empty for none
	}{
		"user and password":       {secret{"username": text("u"), "password": text(canary)}, ""},
		"user who is a token":     {secret{"username": text(canary), "password": text("")}, ""},
		"token":                   {secret{"bearerToken": text(canary)}, ""},
		"token with a line break": {secret{"bearerToken": text(canary + "\n")}, ""},
		"authority":               {secret{"ca.crt": cert}, ""},
		"certificate":             {secret{"tls.crt": cert, "tls.key": key}, ""},
		"certificate of Argo CD":  {secret{"type": text("git"), "url": text("https://git.example.com/a"), "tlsClientCertData": cert, "tlsClientCertKey": key}, ""},
		"key of ssh of Argo CD":   {secret{"type": text("git"), "url": text("ssh://git@git.example.com/a"), "sshPrivateKey": identity, "known_hosts": known}, ""},
		"names of before":         {secret{"caFile": cert, "certFile": cert, "keyFile": key}, ""},
		"key of ssh":              {secret{"identity": identity, "known_hosts": known}, ""},
		"key of ssh of RSA":       {secret{"identity": privateKey(t, short, ""), "known_hosts": known}, ""},
		"key with a passphrase":   {secret{"identity": locked, "password": text(canary), "known_hosts": known}, ""},
		"keys that nobody reads":  {secret{"bearerToken": text(canary), "identity.pub": text("x"), "note": text("y")}, ""},

		"nothing":                      {nil, "none of the keys"},
		"nothing that is known":        {secret{"token": text(canary)}, "none of the keys"},
		"no password":                  {secret{"username": text(canary)}, "the key password is missing"},
		"no user":                      {secret{"password": text(canary)}, "the key username is missing"},
		"empty user":                   {secret{"username": nil, "password": text(canary)}, "the key username is missing"},
		"blank user":                   {secret{"username": text(""), "password": text(canary)}, "username is empty"},
		"colon":                        {secret{"username": text("a:" + canary), "password": text("x")}, "username has a colon"},
		"password and token":           {secret{"username": text("u"), "password": text("x"), "bearerToken": text(canary)}, "bearerToken and username"},
		"empty token":                  {secret{"bearerToken": text("\n")}, "bearerToken is empty"},
		"token of two lines":           {secret{"bearerToken": text(canary + "\nX-Other: y")}, "bearerToken has characters"},
		"authority that is none":       {secret{"ca.crt": text(canary)}, "ca.crt has no certificate"},
		"certificate without its key":  {secret{"tls.crt": cert}, "the key tls.key is missing"},
		"key without its certificate":  {secret{"tls.key": key}, "the key tls.crt is missing"},
		"certificate of another key":   {secret{"tls.crt": otherCert, "tls.key": key}, "no pair"},
		"no known hosts, of Argo CD":   {secret{"sshPrivateKey": identity}, "the key known_hosts is missing"},
		"half of a pair, of Argo CD":   {secret{"tlsClientCertData": cert}, "the key tls.key is missing"},
		"no known hosts":               {secret{"identity": identity}, "the key known_hosts is missing"},
		"known hosts alone":            {secret{"known_hosts": known}, "the key identity is missing"},
		"empty known hosts":            {secret{"identity": identity, "known_hosts": text(" \n")}, "known_hosts is empty"},
		"known hosts that are none":    {secret{"identity": identity, "known_hosts": text(canary)}, "known_hosts has a line"},
		"key that is none":             {secret{"identity": text(canary), "known_hosts": known}, "identity is no private key"},
		"public key":                   {secret{"identity": ssh.MarshalAuthorizedKey(mustPublic(t, ed25519Key(t))), "known_hosts": known}, "identity is no private key"},
		"passphrase missing":           {secret{"identity": locked, "known_hosts": known}, "identity is encrypted"},
		"passphrase of something else": {secret{"identity": locked, "password": text(canary + "x"), "known_hosts": known}, "not the passphrase"},
	} {
		credential, err := Parse(c.data)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		case err != nil && (!errors.Is(err, source.ErrCredential) || source.Hint(err) == ""):
			t.Errorf("%s: %v has the hint %q", name, err, source.Hint(err))
		}
		if printed := fmt.Sprintf("%v %+v %#v %v %s", credential, credential, credential, err, source.Hint(err)); strings.Contains(printed, canary) {
			t.Errorf("%s: a value of the Secret is in %s", name, printed)
		}
	}
}

func mustPublic(t testing.TB, key ed25519.PrivateKey) ssh.PublicKey {
	t.Helper()
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func TestRequestHasTheCredential(t *testing.T) {
	for _, c := range []struct {
		data map[string][]byte
		want string
	}{
		{map[string][]byte{"username": []byte("u\n"), "password": []byte("p w\r\n")}, "Basic dTpwIHc="},
		{map[string][]byte{"bearerToken": []byte("abc\n")}, "Bearer abc"},
	} {
		credential, err := Parse(c.data)
		if err != nil {
			t.Fatal(err)
		}
		request := &http.Request{Header: http.Header{}}
		credential.SetAuth(request)
		if got := request.Header.Get("Authorization"); got != c.want || !credential.HTTP() {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestCredentialOfAnotherScheme(t *testing.T) {
	known := []byte(xknownhosts.Line([]string{"h"}, mustPublic(t, ed25519Key(t))))
	overSSH, err := Parse(map[string][]byte{"identity": privateKey(t, ed25519Key(t), ""), "known_hosts": known})
	if err != nil {
		t.Fatal(err)
	}
	overHTTPS, err := Parse(map[string][]byte{"bearerToken": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		credential *Credential
		url, want  string
	}{
		{overSSH, "ssh://h/a", ""},
		{overHTTPS, "https://h/a", ""},
		{overSSH, "https://h/a", "it has a key of ssh, and the URL of the source is one of https"},
		{overHTTPS, "ssh://h/a", "the key identity is missing"},
	} {
		if err := c.credential.For(c.url); fmt.Sprint(err) != c.want && !(c.want == "" && err == nil) {
			t.Errorf("%s: %v, want %s", c.url, err, c.want)
		}
	}
}

func TestFolder(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	credential, prefix, err := Folder(fstest.MapFS{"bearerToken": file("abc\n"), "url-prefix": file("https://git.example.com\n"), "..data": file("x")})
	if err != nil || prefix != "https://git.example.com" || credential.token != "abc" {
		t.Errorf("%v, prefix %q, %v", credential, prefix, err)
	}
	for want, folder := range map[string]fstest.MapFS{
		"there is no file url-prefix":       {"bearerToken": file("abc")},
		"the key password is missing":       {"username": file("u"), "url-prefix": file("https://h")},
		"username: is not a regular file":   {"username/x": file("u"), "url-prefix": file("https://h")},
		"password: is larger than a Secret": {"username": file("u"), "password": file(strings.Repeat("x", maxFile+1)), "url-prefix": file("https://h")},
	} {
		if _, _, err := Folder(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
