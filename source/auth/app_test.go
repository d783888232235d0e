package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
)

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pkcs8(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestParseApp(t *testing.T) {
	private := rsaKey(t, 2048)
	der := x509.MarshalPKCS1PrivateKey(private)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der}))
	type secret = map[string]string
	good := secret{"githubAppID": "1234", "githubAppInstallationID": "42", "githubAppPrivateKey": key}
	with := func(changed secret) secret {
		all := secret{}
		for _, each := range []secret{good, changed} {
			for name, value := range each {
				if all[name] = value; value == "-" {
					delete(all, name)
				}
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		data secret
		api  string // where the API is; empty for an error
		want string // in the error
	}{
		"PKCS #1":              {good, "https://api.github.com", ""},
		"PKCS #8":              {with(secret{"githubAppPrivateKey": pkcs8(t, private)}), "https://api.github.com", ""},
		"client ID":            {with(secret{"githubAppID": "Iv23liABCdef\n"}), "https://api.github.com", ""},
		"owner":                {with(secret{"githubAppInstallationID": "-", "githubAppInstallationOwner": "acme"}), "https://api.github.com", ""},
		"the URL has the rest": {with(secret{"githubAppInstallationID": "-"}), "https://api.github.com", ""},
		"GitHub Enterprise":    {with(secret{"githubAppBaseURL": "https://github.example.com/api/v3/"}), "https://github.example.com/api/v3", ""},
		"its host alone":       {with(secret{"githubAppBaseURL": "https://github.example.com:8443"}), "https://github.example.com:8443/api/v3", ""},
		"a tenant of ghe.com":  {with(secret{"githubAppBaseURL": "https://api.acme.ghe.com"}), "https://api.acme.ghe.com", ""},
		"as Argo CD has it":    {with(secret{"githubAppEnterpriseBaseUrl": "https://github.example.com/api/v3", "type": "git", "url": "https://github.example.com/acme"}), "https://github.example.com/api/v3", ""},
		"beside an authority":  {with(secret{"known_hosts": canary}), "https://api.github.com", ""},

		"no key":                   {with(secret{"githubAppPrivateKey": "-"}), "", "the key githubAppPrivateKey is missing"},
		"no ID":                    {with(secret{"githubAppID": "-"}), "", "the key githubAppID is missing"},
		"neither":                  {secret{"githubAppInstallationID": "42"}, "", "the key githubAppID is missing"},
		"a token for an ID":        {with(secret{"githubAppID": canary + " x"}), "", "githubAppID is no ID"},
		"installation with a path": {with(secret{"githubAppInstallationID": "../" + canary}), "", "githubAppInstallationID is no number"},
		"empty installation":       {with(secret{"githubAppInstallationID": ""}), "", "githubAppInstallationID is no number"},
		"both":                     {with(secret{"githubAppInstallationOwner": canary}), "", "githubAppInstallationID and githubAppInstallationOwner"},
		"owner with a path":        {with(secret{"githubAppInstallationID": "-", "githubAppInstallationOwner": canary + "/x"}), "", "githubAppInstallationOwner is no name"},
		"a password beside it":     {with(secret{"username": "u", "password": canary}), "", "githubAppID and another login"},
		"a bearer token beside it": {with(secret{"bearerToken": canary}), "", "githubAppID and another login"},
		"no PEM":                   {with(secret{"githubAppPrivateKey": canary}), "", "githubAppPrivateKey is no private key in PEM form"},
		"PEM of something else":    {with(secret{"githubAppPrivateKey": "-----BEGIN RSA PRIVATE KEY-----\n" + "AAAA" + "\n-----END RSA PRIVATE KEY-----\n"}), "", "githubAppPrivateKey is no private key in PEM form"},
		"public key":               {with(secret{"githubAppPrivateKey": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&private.PublicKey)}))}), "", "githubAppPrivateKey is no private key in PEM form"},
		"key of another kind":      {with(secret{"githubAppPrivateKey": pkcs8(t, ed25519Key(t))}), "", "githubAppPrivateKey is no key of RSA"},
		"short key":                {with(secret{"githubAppPrivateKey": pkcs8(t, rsaKey(t, 1024))}), "", "too short"},
		"encrypted":                {with(secret{"githubAppPrivateKey": string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}))}), "", "githubAppPrivateKey is encrypted"},
		"API in the clear":         {with(secret{"githubAppBaseURL": "http://github.example.com/api/v3"}), "", "githubAppBaseURL is no URL of https"},
		"API with a login":         {with(secret{"githubAppBaseURL": "https://" + canary + "@github.example.com"}), "", "githubAppBaseURL is no URL of https"},
		"API with a query":         {with(secret{"githubAppBaseURL": "https://github.example.com/?a=" + canary}), "", "githubAppBaseURL is no URL of https"},
		"API with a fragment":      {with(secret{"githubAppBaseURL": "https://github.example.com/#"}), "", "githubAppBaseURL is no URL of https"},
		"API that is escaped":      {with(secret{"githubAppBaseURL": "https://github.example.com/%2e%2e"}), "", "githubAppBaseURL is no URL of https"},
	} {
		data := map[string][]byte{}
		for key, value := range c.data {
			data[key] = []byte(value)
		}
		credential, err := Parse(data)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, source.ErrCredential) || source.Hint(err) == ""):
			t.Errorf("%s: %v (%s), want %s", name, err, source.Hint(err), c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && (credential.App.API != c.api || credential.HTTP() || credential.For("https://github.com/acme/pools") != nil || credential.For("ssh://git@github.com/acme/pools") == nil):
			t.Errorf("%s: the API is at %s, want %s", name, credential.App.API, c.api)
		case c.want == "" && (credential.Unfit("azure") == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", credential.App, *credential, credential.App), private.D.String())):
			t.Errorf("%s: it is taken for an authority, or its key is printed", name)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", err, err, err, source.Hint(err)); strings.Contains(text, canary) {
			t.Errorf("%s: a value of the Secret is in %s", name, text)
		}
	}
}
