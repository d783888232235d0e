package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// keysOf are the three keys that the pool of TestConflictPolicies wants: label,
// annotation, taint. A key that is not there is "-".
func keysOf(node *corev1.Node) [3]string {
	keys := [3]string{"-", "-", "-"}
	if value, found := node.Labels["wanted"]; found {
		keys[0] = value
	}
	if value, found := node.Annotations["wanted"]; found {
		keys[1] = value
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == "wanted" {
			keys[2] = taint.Value
		}
	}
	return keys
}

func TestConflictPolicies(t *testing.T) {
	all := func(value string) [3]string { return [3]string{value, value, value} }
	cases := map[string]struct {
		reason                  string
		policy                  v1.ConflictPolicy
		before, during, changed [3]string
		after                   [3]string
		conflicted              bool
	}{
		"report": {
			reason: "what somebody else has set stays, before, during and after",
			policy: v1.ReportConflicts,
			before: all("theirs"), during: all("theirs"), changed: all("theirs"), after: all("theirs"), conflicted: true,
		},
		"report-shared": {
			reason: "a value that stands there already is shared, and stays when the pool goes",
			policy: v1.ReportConflicts,
			before: all("ours"), during: all("ours"), changed: all("ours"), after: all("ours"), conflicted: true,
		},
		"take-over": {
			reason: "the value is replaced, and comes back",
			policy: v1.TakeOver,
			before: all("theirs"), during: all("ours"), changed: all("changed"), after: all("theirs"),
		},
		"take-over-shared": {
			reason: "an equal value is not taken over until the pool wants another one; then it comes back",
			policy: v1.TakeOver,
			before: all("ours"), during: all("ours"), changed: all("changed"), after: all("ours"),
		},
		"adopt": {
			reason: "the value is the pool's from now on, and goes with it",
			policy: v1.Adopt,
			before: all("theirs"), during: all("ours"), changed: all("changed"), after: all("-"),
		},
		"adopt-equal": {
			reason: "the value is the pool's from now on, also where it was equal",
			policy: v1.Adopt,
			before: all("ours"), during: all("ours"), changed: all("changed"), after: all("-"),
		},
	}
	w := newWorld(t)
	for name, c := range cases {
		node := w.node(name, role(name), "wanted="+c.before[2]+":NoSchedule", "also=theirs:NoSchedule")
		w.changeNode(node.Name, func(node *corev1.Node) {
			node.Labels["wanted"] = c.before[0]
			if node.Annotations == nil {
				node.Annotations = map[string]string{}
			}
			node.Annotations["wanted"] = c.before[1]
		})
		w.pool(fmt.Sprintf(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: %s}
spec:
  conflictPolicy: %s
  labels: {wanted: ours, other: "yes"}
  annotations: {wanted: ours}
  taints: [{key: wanted, value: ours, effect: NoSchedule}, {key: other, effect: NoSchedule}]
`, name, c.policy))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			has := func(stage string, want [3]string) {
				t.Helper()
				w.eventually("the keys are right "+stage+": "+c.reason, func() error {
					if diff := cmp.Diff(want, keysOf(w.get(name))); diff != "" {
						return fmt.Errorf("label, annotation and taint (-want +got):\n%s", diff)
					}
					return nil
				})
			}
			carriesOther := func() {
				t.Helper()
				w.eventually("the other keys are applied all the same", func() error {
					node := w.get(name)
					if node.Labels["other"] != "yes" || len(ownTaints(node)) != 3 {
						return fmt.Errorf("labels %v, taints %v", node.Labels, ownTaints(node))
					}
					return nil
				})
			}
			carriesOther()
			has("when the pool has come", c.during)
			if c.conflicted && c.before[0] != "ours" {
				w.poolIs(name, "reports node, key and both values", isConflicted(1,
					"node "+name+`: annotation wanted stays "theirs": `, `has set it; pool `+name+` wants "ours"`,
					"label wanted stays", "taint wanted:NoSchedule stays"))
			} else {
				w.isReady(name, 1)
			}

			w.change(name, func(pool *v1.NodePool) {
				pool.Spec.Labels["wanted"] = "changed"
				pool.Spec.Annotations["wanted"] = "changed"
				pool.Spec.Taints[0].Value = "changed"
			})
			if c.conflicted {
				w.poolIs(name, "reports the conflict with the changed value", isConflicted(1, `wants "changed"`))
			} else {
				w.isReady(name, 1)
			}
			has("when the pool has changed", c.changed)
			carriesOther()

			w.remove(name)
			has("when the pool has gone", c.after)
			node := w.get(name)
			if _, found := node.Labels["other"]; found {
				t.Errorf("label other is left: %v", node.Labels)
			}
			if record, found := node.Annotations[v1.AppliedAnnotation]; found {
				t.Errorf("a record is left: %s", record)
			}
		})
	}
}
