package review

import (
	"testing"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

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
			m := masker{}
			plain := "user: me"
			if got := m.hide("example.com/config", c.text, &plain, maskedBefore); got != c.want {
				t.Errorf("it became %q, want %q: %s", got, c.want, c.reason)
			}
			if got := m.hide("example.com/config", plain, &c.text, maskedAfter); got != plain {
				t.Errorf("what is no secret became %q", got)
			}
		})
	}
	m := masker{}
	same := "a=2\ntoken: abc"
	if got := m.hide("config", same, &same, maskedBefore); got != masked {
		t.Errorf("what does not change became %q", got)
	}
}

// Secrets that are too short to be searched for follow their key in an impact.
func TestSecretsInReasons(t *testing.T) {
	pair := func(key, value string) impact.Reason {
		return impact.Reason{{Text: key + "="}, {Key: key, Text: value}}
	}
	text := func(parts ...any) (reason impact.Reason) {
		for _, part := range parts {
			switch part := part.(type) {
			case string:
				reason = append(reason, impact.Words(part)...)
			case impact.Reason:
				reason = append(reason, part...)
			}
		}
		return reason
	}
	cases := map[string]struct {
		reason string
		given  impact.Reason
		want   string
	}{
		"taint":        {"the value goes, the effect stays", text("does not tolerate ", pair("token", "abc"), ":NoSchedule"), "does not tolerate token=***:NoSchedule"},
		"no value":     {"there is nothing to hide", text("does not tolerate gpu:NoSchedule"), "does not tolerate gpu:NoSchedule"},
		"label":        {"the value goes", text("the node has no label ", pair("api-key", "abc")), "the node has no label api-key=***"},
		"credential":   {"the value says it", text("the node has no label ", pair("a", "ghp_0123456789abcdefghij0123456789abcdef")), "the node has no label a=***"},
		"key":          {"a key may be one, too", text("the node has no label ", pair("ghp_0123456789abcdefghij0123456789abcdef", "abc")), "the node has no label ***=abc"},
		"RuntimeClass": {"both values go", text("its RuntimeClass a selects ", pair("token", "abc"), ", and the pod ", pair("token", "abd")), "its RuntimeClass a selects token=***, and the pod token=***"},
		"pools": {"each taint is masked", text("pods of a do not tolerate ", pair("token", "abc"), ":NoExecute of b, pods of b do not tolerate ", pair("tier", "gold"), ":NoExecute of a"),
			"pods of a do not tolerate token=***:NoExecute of b, pods of b do not tolerate tier=gold:NoExecute of a"},
		"set":      {"the other value goes too", text("pods of a select ", pair("token", "abc"), `, which b sets to "`, impact.Reason{{Key: "token", Text: "abd"}}, `"`), `pods of a select token=***, which b sets to "***"`},
		"ordinary": {"what is no secret stays", text("pods of a select ", pair("tier", "gold"), `, which b sets to "silver"`), `pods of a select tier=gold, which b sets to "silver"`},
	}
	for name, c := range cases {
		m := masker{}
		r := &Review{Impact: m.impact(&impact.Impact{
			Unschedulable: []impact.Unschedulable{{Reason: c.given}}, Overlaps: []impact.Overlap{{Reason: c.given}},
		})}
		sentences(r)
		for _, got := range []string{r.Impact.Unschedulable[0].Reason.String(), r.Impact.Overlaps[0].Reason.String()} {
			if got != c.want {
				t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
			}
		}
	}
}

func TestRecordIsMasked(t *testing.T) {
	record, plain := `{"labels":{"token":"abc"},"list":["x"]}`, `{ "labels": {"tier":"gold"} }`
	masker{}.record(&record)
	masker{}.record(&plain)
	if record != `{"labels":{"token":"***"},"list":["x"]}` || plain != `{ "labels": {"tier":"gold"} }` {
		t.Errorf("records became %s and %s", record, plain)
	}
}

// An author cannot blank a sentence of a review by naming its text a password.
func TestSentencesStayReadable(t *testing.T) {
	const note, held = "the release of 40 nodes is not approved", "3 nodes of gpu would be released"
	r := &Review{Notes: []string{note, "it is ghp_0123456789abcdefghij0123456789abcdef"}, HeldBack: &HeldBack{Reason: held}, Pools: []Object{{After: map[string]any{"password": note, "token": held}}}}
	mask(r)
	if r.Notes[0] != note || r.HeldBack.Reason != held || r.Notes[1] != "it is ***" || r.Pools[0].After["password"] != masked {
		t.Errorf("notes %q, held back %q, pool %v", r.Notes, r.HeldBack.Reason, r.Pools[0].After)
	}
}
