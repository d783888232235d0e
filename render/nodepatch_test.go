package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodePatch(t *testing.T) {
	disputed := Want{Value: "1", Pool: "a", Younger: []Claim{{"b", "2"}}}
	patch := func(edit func(*corev1.Node)) *corev1.Node {
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		edit(node)
		return node
	}
	cases := map[string]struct {
		reason  string
		desired Desired
		want    *corev1.Node
	}{
		"nothing": {"no patch at all", Desired{Pools: []string{"a"}}, nil},
		"everything": {
			"what younger pools want is left out, the taints are sorted by key and effect",
			Desired{
				Labels:      map[string]Want{"l": wants("a", ""), "k": disputed},
				Annotations: map[string]Want{"n": wants("a", "v")},
				Taints: map[TaintID]Want{
					{"b", "NoSchedule"}: wants("a", "3"), {"a", "NoSchedule"}: wants("a", "2"), {"a", "NoExecute"}: wants("b", "1"),
				},
			},
			patch(func(node *corev1.Node) {
				node.Labels = map[string]string{"l": "", "k": "1"}
				node.Annotations = map[string]string{"n": "v"}
				node.Spec.Taints = []corev1.Taint{
					{Key: "a", Value: "1", Effect: "NoExecute"}, {Key: "a", Value: "2", Effect: "NoSchedule"}, {Key: "b", Value: "3", Effect: "NoSchedule"},
				}
			}),
		},
		"only an annotation": {
			"one of the three is enough",
			Desired{Annotations: map[string]Want{"n": wants("a", "")}},
			patch(func(node *corev1.Node) { node.Annotations = map[string]string{"n": ""} }),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.desired.NodePatch("n"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestTaintIDText(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   TaintID
		ok     bool
	}{
		"both":      {"as kubectl taint writes it", "node-pool.lailin.xyz:NoSchedule", TaintID{"node-pool.lailin.xyz", "NoSchedule"}, true},
		"no effect": {"identity is key and effect", "k", TaintID{}, false},
		"no key":    {"same", ":NoSchedule", TaintID{}, false},
		"empty":     {"same", "", TaintID{}, false},
		"no value":  {"nothing after the colon", "k:", TaintID{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got TaintID
			err := got.UnmarshalText([]byte(c.text))
			if (err == nil) != c.ok || got != c.want {
				t.Fatalf("read as %v, %v: %s", got, err, c.reason)
			}
			if text, err := got.MarshalText(); c.ok && (err != nil || string(text) != c.text) {
				t.Errorf("written as %q, %v", text, err)
			}
		})
	}
}
