package review

import "testing"

func TestLooksSecret(t *testing.T) {
	cases := map[string]struct {
		reason     string
		key, value string
		want       bool
	}{
		"token in its name":     {"the key says it", "example.com/api-token", "x", true},
		"password":              {"the key says it, in any case", "DB_PASSWORD", "x", true},
		"nothing":               {"there is nothing to hide", "token", "", false},
		"word within":           {"a label that is about tokens holds none", "token-refresh/enabled", "true", false},
		"tokens":                {"a number of tokens is no token", "max-tokens", "8", false},
		"refresh":               {"the same, without a path", "token-refresh", "5m", false},
		"driver":                {"the name of software", "secrets-store.csi.k8s.io/driver", "vault", false},
		"secret's name":         {"what a secret is called is none", "example.com/secret-name", "db", false},
		"capital letter":        {"a part may begin with one", "dbPassword", "x", true},
		"capital letters":       {"a part may begin with one", "example.com/apiToken", "x", true},
		"key of an interface":   {"however it is written", "s3APIKey", "x", true},
		"underscore":            {"however it is written", "API_KEY", "x", true},
		"no part":               {"a word that ends like one", "kubernetes.io/nontoken", "x", false},
		"compass":               {"a word that ends like one", "monkey", "x", false},
		"switch":                {"a switch is no secret", "example.com/mount-token", "True", false},
		"taint":                 {"the effect is no part of the key", "password:NoSchedule", "x", true},
		"GitHub":                {"the value says it", "a", "ghp_0123456789abcdefghij0123456789abcdef", true},
		"AWS":                   {"the value says it", "a", "AKIAABCDEFGHIJKLMNOP", true},
		"service account":       {"the value says it", "a", "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJl.c2lnbmF0dXJl", true},
		"key":                   {"the value says it", "a", "-----BEGIN RSA PRIVATE KEY-----\nabc", true},
		"URL with a password":   {"the value says it", "a", "https://me:hunter2@example.com/x", true},
		"URL":                   {"an address is no secret", "a", "https://example.com/x", false},
		"pool":                  {"what labels are", "node-pool.lailin.xyz/master", "8", false},
		"node":                  {"what labels are", "kubernetes.io/hostname", "gpu-1", false},
		"masked":                {"what is masked is not masked again", "token", masked, false},
		"instance of a machine": {"a long word is no secret for that", "provider-id", "i-0abcdef1234567890", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := looksSecret(c.key, c.value); got != c.want {
				t.Errorf("looksSecret(%q, %q) = %t: %s", c.key, c.value, got, c.reason)
			}
		})
	}
}

// What a longer text assigns to a name is masked, and the rest of it can be read.
func TestSecretsWithinTexts(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"lines":            {"each line says what it holds", "user: me\npassword: topsecret\nport: 80", "user: me\npassword: ***\nport: 80"},
		"words":            {"a line is one value", "passphrase: correct horse, battery\nuser: me", "passphrase: ***\nuser: me"},
		"item":             {"a line of a list", "- token: abc", "- token: ***"},
		"environment":      {"a line that a shell reads", "export DB_PASSWORD=a,b;c\nA=b", "export DB_PASSWORD=***\nA=b"},
		"pairs":            {"a list on one line", "user=me,token=abc,port=80", "user=me,token=***,port=80"},
		"first pair":       {"a list that begins with it", "token=abc,port=80", "token=***,port=80"},
		"pairs and spaces": {"a list on one line", "user=me dbPassword=abc port=80", "user=me dbPassword=*** port=80"},
		"flow":             {"a list in another form", "password: abc, user: me", "password: ***, user: me"},
		"address":          {"the query of an address", "https://example.com/x?token=abc&page=2", "https://example.com/x?token=***&page=2"},
		"JSON":             {"and it stays JSON", `{"user":"me","apiKey":"a\"b, c","port":80}`, `{"user":"me","apiKey":"***","port":80}`},
		"JSON in JSON":     {"as it is quoted", `{\"user\":\"me\",\"apiKey\":\"abc\"}`, `{\"user\":\"me\",\"apiKey\":\"***\"}`},
		"block":            {"YAML puts it into the next line", "password: |\n  topsecret\nuser: me", "password: |\n  ***\nuser: me"},
		"number":           {"a number of tokens is no token", "max-tokens=8", "max-tokens=8"},
		"switch":           {"nor is a switch", `{"automountServiceAccountToken":false}`, `{"automountServiceAccountToken":false}`},
		"other words":      {"it is about tokens and holds none", "token-refresh: 5m, tokens=8", "token-refresh: 5m, tokens=8"},
		"prose":            {"nothing is assigned", "rotates the token and the password daily", "rotates the token and the password daily"},
		"address alone":    {"an address is no secret", "https://example.com/x?a=b", "https://example.com/x?a=b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := &masker{found: map[string]bool{}}
			got := m.hide("example.com/config", c.text, nil, maskedBefore)
			if got != c.want {
				t.Errorf("it became %q, want %q: %s", got, c.want, c.reason)
			}
			if again := m.hide("example.com/config", got, nil, maskedBefore); again != got {
				t.Errorf("masked once more it is %q", again)
			}
		})
	}
	m := &masker{found: map[string]bool{}}
	was, is := "a=1\ntoken: abc\npassword: old", "a=2\ntoken: abc\npassword: new"
	if got, want := m.hide("config", was, &is, maskedBefore), "a=1\ntoken: ***\npassword: *** (before)"; got != want {
		t.Errorf("of two, one of which changes: %q, want %q", got, want)
	}
}

// Secrets that are too short to be looked for stand in an impact behind their key.
func TestSecretsInReasons(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"taint":        {"the value goes, the effect stays", "does not tolerate token=abc:NoSchedule", "does not tolerate token=***:NoSchedule"},
		"no value":     {"there is nothing to hide", "does not tolerate token:NoSchedule", "does not tolerate token:NoSchedule"},
		"label":        {"the value goes", "the node has no label api-key=abc", "the node has no label api-key=***"},
		"credential":   {"the value says it", "the node has no label a=ghp_0123456789abcdefghij0123456789abcdef", "the node has no label a=***"},
		"RuntimeClass": {"both values go", "its RuntimeClass a selects token=abc, and the pod token=abd", "its RuntimeClass a selects token=***, and the pod token=***"},
		"pools": {"each taint is looked at", "pods of a do not tolerate token=abc:NoExecute of b, pods of b do not tolerate tier=gold:NoExecute of a",
			"pods of a do not tolerate token=***:NoExecute of b, pods of b do not tolerate tier=gold:NoExecute of a"},
		"set":       {"the other value goes too", `pods of a select token=abc, which b sets to "abd"`, `pods of a select token=***, which b sets to "***"`},
		"set anew":  {"also where the first is empty", `pods of a select token, which b sets to "abd"`, `pods of a select token, which b sets to "***"`},
		"disagreed": {"the sentence goes on", "pods of a select token=abc, over which pools disagree", "pods of a select token=***, over which pools disagree"},
		"ordinary":  {"what is no secret stays", `pods of a select tier=gold, which b sets to "silver"`, `pods of a select tier=gold, which b sets to "silver"`},
	}
	for name, c := range cases {
		m := &masker{found: map[string]bool{}}
		if got := m.reason(c.text); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}

// A record of which a short secret is known already has it masked all the same.
func TestRecordOfAKnownSecret(t *testing.T) {
	m := &masker{found: map[string]bool{"abc": true}}
	record, plain := `{"labels":{"token":"abc"},"list":["x"]}`, `{ "labels": {"tier":"gold"} }`
	m.record(&record)
	m.record(&plain)
	if record != `{"labels":{"token":"***"},"list":["x"]}` || plain != `{ "labels": {"tier":"gold"} }` {
		t.Errorf("records became %s and %s", record, plain)
	}
}
