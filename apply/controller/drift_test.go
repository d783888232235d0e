package controller

import (
	"fmt"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What a user changes with kubectl on a node that a pool manages is put back,
// each key by itself.
func TestHandMadeChangeIsPutBack(t *testing.T) {
	cases := map[string]struct {
		reason string
		hand   []string
	}{
		"label-changed":      {"a managed label with another value", []string{"label", "--overwrite", "node", "kept-1", "managed=hand"}},
		"label-removed":      {"a managed label that is gone", []string{"label", "node", "kept-1", "managed-"}},
		"annotation-changed": {"a managed annotation with another value", []string{"annotate", "--overwrite", "node", "kept-1", "managed=hand"}},
		"annotation-removed": {"a managed annotation that is gone", []string{"annotate", "node", "kept-1", "managed-"}},
		"taint-changed":      {"a managed taint with another value", []string{"taint", "--overwrite", "node", "kept-1", "managed=hand:NoSchedule"}},
		"taint-removed":      {"a managed taint that is gone", []string{"taint", "node", "kept-1", "managed:NoSchedule-"}},
		"role-removed":       {"the role label that the pool has put there", []string{"label", "node", "kept-1", v1.RoleLabel("kept") + "-"}},
		"many-at-once": {"a patch that takes all away in one request", []string{"patch", "node", "kept-1", "--type=merge", "-p",
			`{"metadata":{"labels":{"managed":null},"annotations":{"managed":"hand"}},"spec":{"taints":[{"key":"theirs","effect":"NoSchedule"}]}}`}},
	}
	w := newWorld(t)
	w.node("kept-1", nil, "theirs=:NoSchedule")
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: kept}
spec:
  nodeNames: [kept-1]
  labels: {managed: "yes"}
  annotations: {managed: "yes"}
  taints: [{key: managed, value: "yes", effect: NoSchedule}]
`)
	w.isReady("kept", 1)
	restored := func(w *world) error {
		node := w.get("kept-1")
		_, role := node.Labels[v1.RoleLabel("kept")]
		taints := fmt.Sprint(ownTaints(node))
		if node.Labels["managed"] != "yes" || !role || node.Annotations["managed"] != "yes" || taints != "[managed=yes:NoSchedule theirs=:NoSchedule]" {
			return fmt.Errorf("labels %v, annotations %v, taints %v", node.Labels, node.Annotations, taints)
		}
		return nil
	}
	w.eventually("the pool is carried out", func() error { return restored(w) })
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			before := w.get("kept-1").ResourceVersion
			w.kubectl(c.hand...)
			w.eventually("put back: "+c.reason, func() error { return restored(w) })
			if w.get("kept-1").ResourceVersion == before {
				t.Error("kubectl has changed nothing")
			}
		})
	}
	w.hasEvent("kept", "Repaired", "1 node")
	w.isReady("kept", 1)
	w.staysQuiet()
}
