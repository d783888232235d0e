package review

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

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

// TestSecretsAreMaskedEverywhere puts secrets wherever a review has a value, and
// looks for them in all that it says.
func TestSecretsAreMaskedEverywhere(t *testing.T) {
	const before, after, foreign = "canary-of-before-0123", "canary-of-after-0123", "canary-of-others-0123"
	pool := func(value string) *v1.NodePool {
		return &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Annotations: map[string]string{"example.com/token": value}},
			Spec: v1.NodePoolSpec{
				NodeNames:      []string{"n*"},
				Handler:        "runc",
				ConflictPolicy: v1.ReportConflicts,
				Labels:         map[string]v1.LabelValue{"api-key": v1.LabelValue(value), "their-secret": v1.LabelValue(value)},
				Annotations:    map[string]v1.AnnotationValue{"password": v1.AnnotationValue(value)},
				Taints:         []v1.Taint{{Key: "token", Value: value, Effect: corev1.TaintEffectNoSchedule}},
			},
		}
	}
	nodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"their-secret": foreign}}}}
	empty := plan.Cluster{Nodes: nodes}
	first, err := plan.Diff(plan.Revision{Pools: []render.Definition{{Pool: pool(before), File: "a.yaml", Line: 1}}}, empty)
	if err != nil {
		t.Fatal(err)
	}
	world := first.After(empty)
	second, err := plan.Diff(plan.Revision{Pools: []render.Definition{{Pool: pool(after), File: "a.yaml", Line: 1}}}, world)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Input{
		"created": {Before: empty, Difference: first},
		"changed": {Before: world, Difference: second},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Of(in)
			if err != nil {
				t.Fatal(err)
			}
			text := wholeText(t, r)
			for _, secret := range []string{before, after, foreign} {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%q stands in: …%s…", secret, text[max(i-120, 0):min(i+60, len(text))])
				}
			}
			if len(r.Nodes) != 1 || len(r.Records) != 1 || len(r.Conflicts) != 1 || len(r.Pools) != 1 {
				t.Fatalf("a review of %d groups of nodes, %d records, %d conflicts, %d pools: there is nothing to mask", len(r.Nodes), len(r.Records), len(r.Conflicts), len(r.Pools))
			}
			var lines []string
			for _, line := range r.Nodes[0].Lines() {
				lines = append(lines, line.Text)
			}
			if name == "changed" && !strings.Contains(strings.Join(lines, "\n"), "label api-key=*** (before) -> *** (after)") &&
				!strings.Contains(strings.Join(lines, "\n"), `label api-key="*** (before)" -> "*** (after)"`) {
				t.Errorf("nobody sees that the secret changes:\n%s", strings.Join(lines, "\n"))
			}
		})
	}
	if len(second.Nodes) != 1 || *second.Nodes[0].Changes[0].After == masked {
		t.Error("the plan itself was changed")
	}
}

func wholeText(t *testing.T, r *Review) string {
	t.Helper()
	document, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	text := string(document)
	for _, object := range append(r.Pools, r.RuntimeClasses...) {
		for _, line := range object.Lines() {
			text += line.Text + "\n"
		}
	}
	for _, group := range r.Nodes {
		for _, line := range group.Lines() {
			text += line.Text + "\n"
		}
	}
	for _, conflict := range r.Conflicts {
		text += conflict.Text() + "\n"
	}
	return text
}
