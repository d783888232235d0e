package review

import "testing"

// A value that has a secret in it is masked as a whole: what is shown of the rest
// may be a part of it. One without stays as it is, on the other side of a change too.
func TestValuesAreMaskedWhole(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"lines":       {"each line says what it holds", "user: me\npassword: topsecret\nport: 80", maskedBefore},
		"nested":      {"the name is that of the list", `{"token":["X"]}`, maskedBefore},
		"quotes":      {"those of JSON within JSON", `{\"user\":\"me\",\"apiKey\":\"a\\\"b\"}`, maskedBefore},
		"block":       {"YAML puts it into the next lines", "password: |\n  top\n  secret\nuser: me", maskedBefore},
		"number":      {"a number of tokens is no token", "max-tokens=8", "max-tokens=8"},
		"switch":      {"nor is a switch", `{"automountServiceAccountToken":false}`, `{"automountServiceAccountToken":false}`},
		"prose":       {"nothing is assigned", "rotates the token and the password daily", "rotates the token and the password daily"},
		"masked once": {"it is not masked again", maskedAfter, maskedAfter},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := &masker{found: map[string]bool{}}
			plain := "user: me"
			if got := m.hide("example.com/config", c.text, &plain, maskedBefore); got != c.want {
				t.Errorf("it became %q, want %q: %s", got, c.want, c.reason)
			}
			if got := m.hide("example.com/config", plain, &c.text, maskedAfter); got != plain {
				t.Errorf("what is no secret became %q", got)
			}
		})
	}
	m := &masker{found: map[string]bool{}}
	same := "a=2\ntoken: abc"
	if got := m.hide("config", same, &same, maskedBefore); got != masked {
		t.Errorf("what does not change became %q", got)
	}
}

// Secrets that are too short to be searched for follow their key in an impact.
func TestSecretsInReasons(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"taint":        {"the value goes, the effect stays", "does not tolerate token=abc:NoSchedule", "does not tolerate token=***:NoSchedule"},
		"no value":     {"there is nothing to hide", "does not tolerate token:NoSchedule", "does not tolerate token:NoSchedule"},
		"label":        {"the value goes", "the node has no label api-key=abc", "the node has no label api-key=***"},
		"credential":   {"the value says it", "the node has no label a=ghp_0123456789abcdefghij0123456789abcdef", "the node has no label a=***"},
		"RuntimeClass": {"both values go", "its RuntimeClass a selects token=abc, and the pod token=abd", "its RuntimeClass a selects token=***, and the pod token=***"},
		"pools": {"each taint is masked", "pods of a do not tolerate token=abc:NoExecute of b, pods of b do not tolerate tier=gold:NoExecute of a",
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
