package controller

import (
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Without its record it is unknown what on a node is ours. Such a node is reported
// of on its pools and left alone to the last byte, whatever the pools do.
func TestNodeWithAnUnreadableRecordIsLeftAlone(t *testing.T) {
	cases := map[string]struct {
		reason string
		spoil  func(record string) string
		says   string
	}{
		"nonsense":      {"no JSON", func(string) string { return `{"version":1,"pools":` }, "not a record"},
		"empty-object":  {"no version", func(string) string { return `{}` }, "version 0"},
		"newer":         {"written by a later version", func(r string) string { return strings.Replace(r, `"version":1`, `"version":2`, 1) }, "later version"},
		"unknown-field": {"only half understood", func(r string) string { return strings.Replace(r, `"version":1`, `"version":1,"budgets":{}`, 1) }, "budgets"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("broken", role("tenant"), "theirs=:NoExecute")
			w.node("sound", role("tenant"))
			w.isReadyNode("broken", "sound")
			before := w.get("broken")
			w.approvedPool(tenantPool)
			w.isReady("tenant", 2)

			record := w.get("broken").Annotations[v1.AppliedAnnotation]
			w.kubectl("annotate", "--overwrite", "node", "broken", v1.AppliedAnnotation+"="+c.spoil(record))
			w.isStalled("tenant", v1.NodesReason, "1 of 2 nodes up to date", "node broken has a record that cannot be read", c.says)
			w.hasEvent("tenant", v1.NodesReason, "node broken")
			asBroken := bare(t, w.get("broken"))
			w.staysQuietBut("broken", func() {
				w.change("tenant", func(pool *v1.NodePool) {
					pool.Spec.Labels = map[string]v1.LabelValue{"tenant": "b"}
					pool.Spec.Taints = nil
				})
				sound := role("tenant")
				sound["tenant"] = "b"
				w.carries("sound", sound)
				w.isStalled("tenant", v1.NodesReason, "node broken")
			})
			if now := bare(t, w.get("broken")); now != asBroken {
				t.Errorf("%s: the node was written:\n%s\nwas\n%s", c.reason, now, asBroken)
			}

			w.kubectl("annotate", "--overwrite", "node", "broken", v1.AppliedAnnotation+"="+record)
			w.isReady("tenant", 2)
			w.remove("tenant")
			if now, was := bare(t, w.get("broken")), bare(t, before); now != was {
				t.Errorf("after all the node is\n%s\nand was\n%s", now, was)
			}
		})
	}
}

// staysQuietBut fails the test when the loops write a node while something else
// goes on.
func (w *world) staysQuietBut(node string, goesOn func()) {
	w.t.Helper()
	mark := w.mark()
	goesOn()
	w.settle()
	for _, write := range w.writesSince(mark) {
		if write.Object.Resource == "nodes" && write.Object.Name == node {
			w.t.Errorf("write that must not be: %s", write)
		}
	}
}

// A pool that is deleted does not wait for ever for a node that nobody can read.
// When its record is repaired, what it names goes.
func TestUnreadableNodeDoesNotHoldADeletedPool(t *testing.T) {
	cluster.Long(t)
	w := newWorld(t)
	w.node("broken", role("tenant"))
	w.isReadyNode("broken")
	before := w.get("broken")
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	record := w.get("broken").Annotations[v1.AppliedAnnotation]
	w.kubectl("annotate", "--overwrite", "node", "broken", v1.AppliedAnnotation+"=?")
	w.isStalled("tenant", v1.NodesReason)
	w.remove("tenant")
	w.settle()
	if node := w.get("broken"); node.Labels["tenant"] != "a" || len(ownTaints(node)) != 2 {
		t.Errorf("labels %v, taints %v were touched", node.Labels, ownTaints(node))
	}
	// The pool is gone by now, and nobody knows that it was deleted: made and deleted again, it
	// releases the node.
	w.kubectl("annotate", "--overwrite", "node", "broken", v1.AppliedAnnotation+"="+record)
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	w.remove("tenant")
	w.carries("broken", role("tenant"))
	if now, was := bare(t, w.get("broken")), bare(t, before); now != was {
		t.Errorf("after all the node is\n%s\nand was\n%s", now, was)
	}
}

// What the record does not name is not ours. An entry that somebody takes out of
// it stays on the node for good: the API server may still count it as ours, and
// an apply that leaves it out must not take it away.
func TestEntryTakenOutOfTheRecordStays(t *testing.T) {
	entries := map[string]struct{ reason, entry string }{
		"label":      {"a label", `"example.com/rack":"r1",`},
		"annotation": {"the only annotation", `"annotations":{"tenant":"a"},`},
		"taint":      {"one of two taints", `"tenant:NoExecute":"a",`},
		"taints":     {"all taints", `,"taints":{"tenant:NoExecute":"a","tenant:NoSchedule":"a"}`},
	}
	for name, c := range entries {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1", role("tenant"), "theirs=x:NoSchedule", "theirs=x:NoExecute")
			w.isReadyNode("n1")
			w.approvedPool(tenantPool)
			w.isReady("tenant", 1)
			record := w.get("n1").Annotations[v1.AppliedAnnotation]
			without := strings.Replace(record, c.entry, "", 1)
			if without == record {
				t.Fatalf("no %s in %s", c.entry, record)
			}
			w.kubectl("annotate", "--overwrite", "node", "n1", v1.AppliedAnnotation+"="+without)
			stays := func(stage string) {
				t.Helper()
				w.settle()
				node := w.get("n1")
				taints := strings.Join(ownTaints(node), " ")
				if !strings.Contains(taints, "theirs=x:NoExecute theirs=x:NoSchedule") {
					t.Errorf("%s: foreign taints were lost, the node has %s", stage, taints)
				}
				there := map[string]bool{
					"label":      node.Labels["example.com/rack"] == "r1",
					"annotation": node.Annotations["tenant"] == "a",
					"taint":      strings.Contains(taints, "tenant=a:NoExecute"),
					"taints":     strings.Contains(taints, "tenant=a:NoExecute tenant=a:NoSchedule"),
				}
				if !there[name] {
					t.Errorf("%s: %s that the record does not name was taken away: labels %v, annotations %v, taints %s",
						stage, c.reason, node.Labels, node.Annotations, taints)
				}
			}
			stays("when the entry is out")
			w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Labels["more"] = "keys" })
			w.eventually("the next apply is through", func() error {
				return wantLabel(w.get("n1"), "more", "keys")
			})
			stays("after an apply")
			w.change("tenant", func(pool *v1.NodePool) {
				pool.Spec = v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"more": "again"}}
			})
			w.eventually("the pool releases nearly all", func() error {
				return wantLabel(w.get("n1"), "more", "again")
			})
			stays("after a partial release")
			w.remove("tenant")
			stays("after the release")
		})
	}
}
