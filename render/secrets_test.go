package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/secrets"
)

// Somebody commits a Secret beside the pools, whole or broken: the problems of
// the file are reported, without any content of the Secret. Wrong values of a
// NodePool, which holds no secrets, are shown.
func TestSecretsInFiles(t *testing.T) {
	const whole = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: %q\n"
	for name, c := range map[string]struct{ reason, file string }{
		"whole":           {"another kind", whole},
		"in a list":       {"kubectl get -o yaml", "apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n  data:\n    password: %q\n"},
		"without a kind":  {"a slip", "metadata:\n  name: s\nstringData:\n  password: %q\n"},
		"applied":         {"with what kubectl remembers of it", "apiVersion: v1\nkind: Secret\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: %q\n"},
		"after a pool":    {"of which it is taken for a part", "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: p\nspec: {}\nstringData:\n  password: %q\n"},
		"key twice":       {"the second one is a mistake", whole + "  password: x\n"},
		"tab":             {"no YAML", whole + "\tx: y\n"},
		"no colon":        {"no YAML", whole + "x\n"},
		"open quotes":     {"no YAML", "apiVersion: v1\nkind: Secret\nstringData:\n  password: \"%s\n"},
		"an alias":        {"a password that begins with *", "apiVersion: v1\nkind: Secret\nstringData:\n  password: *%s\n"},
		"an anchor":       {"a password that begins with &", "apiVersion: v1\nkind: Secret\nstringData:\n  password: &%s\n"},
		"a tag":           {"a password that begins with !", "apiVersion: v1\nkind: Secret\nstringData:\n  password: !%s x\n"},
		"a directive":     {"a password that begins with a percent sign", "%%%s\n---\na: b\n"},
		"a reserved sign": {"a password that begins with @", "apiVersion: v1\nkind: Secret\nstringData:\n  password: @%s\n"},
		"a block":         {"a key in PEM form with the wrong indentation", "apiVersion: v1\nkind: Secret\nstringData:\n  key: |\n    -----BEGIN PRIVATE KEY-----\n  %s\n"},
		"control":         {"a control character", whole + "  x: \x01\n"},
		"not UTF-8":       {"another encoding", whole + "  x: \xff\n"},
		"a file of it":    {"nothing but the secret", "%s\n"},
		"two lines of it": {"nothing but the secret, with a name", "password %s: a: b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := secrets.Of("file " + name)
			written := secret
			if strings.HasPrefix(name, "an a") { // a name of an anchor has no other characters
				written = strings.NewReplacer("+", "", "=", "").Replace(secret)
			}
			_, err := Load(tree("secret.yaml", fmt.Sprintf(c.file, written)))
			problems := Problems(nil)
			if !errors.As(err, &problems) {
				t.Fatalf("%s: no problem was found: %v", c.reason, err)
			}
			for _, problem := range problems {
				text := fmt.Sprintf("%+v", problem)
				if found := secrets.Find(text, secret); found != "" {
					t.Errorf("%s: the secret is shown, %s: %s", c.reason, found, text)
				}
				if forged := secrets.Forgery(strings.ReplaceAll(problem.String(), "\n", "")); forged != "" {
					t.Errorf("%s: %s", c.reason, forged)
				}
			}
		})
	}
}
