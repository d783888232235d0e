package redact

import (
	"encoding/json"
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

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestCredentials(t *testing.T) {
	for _, credential := range secrets.Credentials() {
		for wrap, wrapped := range secrets.Wraps {
			if text := wrapped(credential.Text); !new(Finder).Secret("example.com/config", text) {
				t.Errorf("%s, as %s, is not found: %s", credential.Name, wrap, text)
			}
		}
		parts := strings.Join(Parts("example.com/config", "x: 1\ny: "+credential.Text), " ")
		if core := credential.Core(); !strings.Contains(parts, core) {
			t.Errorf("%s: %q is not in the parts %q", credential.Name, core, parts)
		}
		if text := Text("it is " + credential.Text); strings.Contains(text, credential.Core()) {
			t.Errorf("%s is not taken out of a sentence: %q", credential.Name, text)
		}
	}
}

// A value with the name of a secret is one, in every form of writing both.
func TestNames(t *testing.T) {
	forms := map[string]func(name string) string{
		"JSON": func(name string) string { return asJSON(map[string]any{"a": map[string]any{name: "X"}}) },
		"list": func(name string) string { return asJSON(map[string]any{name: []string{"X"}}) },
		"deep": func(name string) string {
			return asJSON(map[string]any{name: map[string]any{"a": []any{map[string]any{"b": "X"}}}})
		},
		"number":          func(name string) string { return asJSON(map[string]any{name: 12345}) },
		"cut JSON":        func(name string) string { return `{"` + name + `":["X"` },
		"quoted quotes":   func(name string) string { return `{"a":"{\"` + name + `\":[\"X\"]}"` },
		"quotes in it":    func(name string) string { return asJSON(map[string]any{name: `"'X'"`}) },
		"block":           func(name string) string { return "a: 1\n" + name + ": |-\n  X\n  Y\nb: 2" },
		"folded":          func(name string) string { return name + ": >+\n\n  X\n" },
		"list of YAML":    func(name string) string { return name + ":\n- X\n" },
		"nested":          func(name string) string { return "a: 1\n" + name + ":\n  b:\n    c: X\n" },
		"flow":            func(name string) string { return name + ": {a: [X]}" },
		"tag":             func(name string) string { return name + ": !!str X" },
		"anchor":          func(name string) string { return "a: &a X\n" + name + ": *a" },
		"environment":     func(name string) string { return "export " + name + "=X\nA=b" },
		"pair":            func(name string) string { return "user=me," + name + "=X,port=80" },
		"variable":        func(name string) string { return asJSON([]any{map[string]any{"name": name, "value": "X"}}) },
		"variable of it":  func(name string) string { return asJSON([]any{map[string]any{"value": "X", "name": name}}) },
		"cut variable":    func(name string) string { return "env: [" + asJSON(map[string]any{"x": 1, name: "X"}) },
		"several of them": func(name string) string { return "a: {}\n---\n" + name + ": X" },
	}
	for _, name := range secretNames {
		if !new(Finder).Secret(name, "X") {
			t.Errorf("%s is not taken for the name of a secret", name)
		}
		if strings.ContainsAny(name, ":") {
			continue
		}
		for form, text := range forms {
			if !new(Finder).Secret("example.com/config", text(name)) {
				t.Errorf("%s as %s is not found: %q", name, form, text(name))
			}
		}
	}
}

// FuzzSecret checks that the search keeps to its bounds, and finds planted secrets.
func FuzzSecret(f *testing.F) {
	for _, credential := range secrets.Credentials() {
		f.Add("a", credential.Text, "x")
	}
	for _, each := range ordinary {
		f.Add(each.key, each.value, "{}")
	}
	f.Add("a", "&a [*a]", "a: &a [x,x]\nb: &b [*a,*a]")
	f.Fuzz(func(t *testing.T, key, value, around string) {
		finder := &Finder{}
		first := finder.Secret(key, value)
		if again := finder.Secret(key, value); first != again {
			t.Error("the answer changes")
		}
		const token = "ghp_0123456789abcdefghij0123456789abcdef"
		for _, planted := range []string{around + " " + token, token + "\n" + around, around + "\n" + token + "\n" + value} {
			if !finder.Secret(key, planted) {
				t.Errorf("%q: the token is not found", planted)
			}
			if text := Text(planted); strings.Contains(text, token) || len(text) > len(planted)+len(Masked)*(len(planted)+1) {
				t.Errorf("%q became %q", planted, text)
			}
		}
		if nested := asJSON(map[string]any{around: []string{value, token}}); !finder.Secret("a", nested) {
			t.Errorf("%q: the token is not found", nested)
		}
		if parts := Parts(key, value); len(parts) > 2*maxFound || len(strings.Join(parts, "")) > 100*(len(value)+1) {
			t.Errorf("%q has %d parts", value, len(parts))
		}
	})
}
