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
		"label-changed":      {"a managed label with another value", []string{"label", "--overwrite", "node", "NODE", "managed=hand"}},
		"label-removed":      {"a managed label that is gone", []string{"label", "node", "NODE", "managed-"}},
		"annotation-changed": {"a managed annotation with another value", []string{"annotate", "--overwrite", "node", "NODE", "managed=hand"}},
		"annotation-removed": {"a managed annotation that is gone", []string{"annotate", "node", "NODE", "managed-"}},
		"taint-changed":      {"a managed taint with another value", []string{"taint", "--overwrite", "node", "NODE", "managed=hand:NoSchedule"}},
		"taint-removed":      {"a managed taint that is gone", []string{"taint", "node", "NODE", "managed:NoSchedule-"}},
		"role-removed":       {"the role label that the pool has put there", []string{"label", "node", "NODE", v1.RoleLabel("kept") + "-"}},
		"many-at-once": {"a patch that takes all away in one request", []string{"patch", "node", "NODE", "--type=merge", "-p",
			`{"metadata":{"labels":{"managed":null},"annotations":{"managed":"hand"}},"spec":{"taints":[{"key":"theirs","effect":"NoSchedule"}]}}`}},
	}
	w := newWorld(t)
	// A key that is changed again and again on one node is a contest, and waits.
	for name := range cases {
		w.node("kept-"+name, nil, "theirs=:NoSchedule")
	}
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: kept}
spec:
  nodeNames: ["kept-*"]
  labels: {managed: "yes"}
  annotations: {managed: "yes"}
  taints: [{key: managed, value: "yes", effect: NoSchedule}]
`)
	w.isReady("kept", int32(len(cases)))
	restored := func(w *world, name string) error {
		node := w.get("kept-" + name)
		_, role := node.Labels[v1.RoleLabel("kept")]
		taints := fmt.Sprint(ownTaints(node))
		if node.Labels["managed"] != "yes" || !role || node.Annotations["managed"] != "yes" || taints != "[managed=yes:NoSchedule theirs=:NoSchedule]" {
			return fmt.Errorf("labels %v, annotations %v, taints %v", node.Labels, node.Annotations, taints)
		}
		return nil
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			node := "kept-" + name
			w.eventually("the pool is carried out", func() error { return restored(w, name) })
			before := w.get(node).ResourceVersion
			for i, argument := range c.hand {
				if argument == "NODE" {
					c.hand[i] = node
				}
			}
			w.kubectl(c.hand...)
			w.eventually("put back: "+c.reason, func() error { return restored(w, name) })
			if w.get(node).ResourceVersion == before {
				t.Error("kubectl has changed nothing")
			}
		})
	}
	w.hasEvent("kept", "Repaired", "put back what was changed by hand")
	w.isReady("kept", int32(len(cases)))
	w.staysQuiet()
}
