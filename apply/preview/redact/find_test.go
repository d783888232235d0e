package redact

import (
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/secrets"
)

// secretNames are keys whose values are secrets, whatever they are.
var secretNames = []string{
	"password", "DB_PASSWORD", "dbpassword", "PASSWORD2", "passwd", "pwd", "dbPwd", "auth", "client-key-data", "apiKey", "api-key", "s3APIKey", "API_KEY", "accessKey",
	"aws_secret_access_key", "private-key", "token", "example.com/api-token", "accessToken", "authtoken", "TOKEN_OLD", "client_secret", "clientSecret", "credentials",
	"passphrase", "pass", "registry-auth", "password-hash", "tls.key", "id_rsa", "encryptionKey", "master_key", "cookie", "sessionToken", "passwordBase64", "secret-2",
	"password:NoSchedule", "example.com/apiToken", "userPassword", "TOKEN2", "sa-token",
}

func TestCredentials(t *testing.T) {
	for _, credential := range secrets.Credentials() {
		for wrap, wrapped := range secrets.Wraps {
			if text := wrapped(credential.Text); !Secret("example.com/config", text) {
				t.Errorf("%s, as %s, is not found: %s", credential.Name, wrap, text)
			}
		}
		if text := Text("it is " + credential.Text); strings.Contains(text, credential.Core()) {
			t.Errorf("%s is not taken out of a sentence: %q", credential.Name, text)
		}
	}
}

// A value with the name of a secret is one, in every form of writing both in a line.
func TestNames(t *testing.T) {
	forms := map[string]string{
		"JSON": `{"a":{"%s":"X"}}`, "list": `{"%s":["X"]}`, "number": `{"%s":12345}`, "cut JSON": `{"%s":["X"`, "quoted quotes": `{"a":"{\"%s\":[\"X\"]}"`,
		"block": "a: 1\n%s: |-\n  X\n  Y\nb: 2", "flow": "%s: {a: [X]}", "tag": "%s: !!str X", "environment": "export %s=X\nA=b", "pair": "user=me,%s=X,port=80",
		"option": "run --%s X",
	}
	for _, name := range secretNames {
		if !Secret(name, "X") {
			t.Errorf("%s is not taken for the name of a secret", name)
		}
		if strings.Contains(name, ":") {
			continue
		}
		for form, text := range forms {
			if text = strings.ReplaceAll(text, "%s", name); form == "option" && strings.ContainsAny(name, "/") {
				continue
			} else if !Secret("example.com/config", text) {
				t.Errorf("%s as %s is not found: %q", name, form, text)
			}
		}
	}
}

// FuzzSecret checks that planted secrets are found, and taken out of texts.
func FuzzSecret(f *testing.F) {
	for _, credential := range secrets.Credentials() {
		f.Add("a", credential.Text, "x")
	}
	for _, each := range ordinary {
		f.Add(each.key, each.value, "{}")
	}
	f.Fuzz(func(t *testing.T, key, value, around string) {
		const token = "ghp_0123456789abcdefghij0123456789abcdef"
		for _, planted := range []string{around + " " + token, token + "\n" + around, around + "\n" + token + "\n" + value} {
			if !Secret(key, planted) {
				t.Errorf("%q: the token is not found", planted)
			}
			if text := Text(planted); strings.Contains(text, token) || len(text) > len(planted)+len(Masked)*(len(planted)+1) {
				t.Errorf("%q became %q", planted, text)
			}
		}
	})
}
