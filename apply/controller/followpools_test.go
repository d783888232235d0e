package controller

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// A pool that changes costs passes over its own nodes, and over no others.
func TestPoolChangeLeadsToItsNodesOnly(t *testing.T) {
	w := newWorld(t)
	w.fleet(30)
	w.node("one", role("red"))
	w.isReadyNode("one")
	w.approvedPool(tenantPool)
	w.pool(redPool)
	w.isReady("tenant", 30)
	w.isReady("red", 1)
	// One pass finds the nodes, one writes each, one sees what each write brings; and
	// one may come too early and be repeated.
	const most = 6
	for _, tc := range []struct{ name, patch string }{
		{"a label", `{"spec":{"labels":{"example.com/changed":"yes"}}}`},
		{"its members, who are the same by another rule", `{"spec":{"nodeNames":["one"]}}`},
	} {
		w.becomesIdle()
		before := nodePasses(t)
		w.kubectl("patch", "nodepools.nodes.lailin.xyz", "red", "--type=merge", "--patch", tc.patch)
		w.isReady("red", 1)
		w.becomesIdle()
		if n := nodePasses(t) - before; n == 0 || n > most {
			t.Errorf("%s of a pool of one node changed, and %d nodes were looked at, want 1 to %d", tc.name, n, most)
		}
	}
}

// nodePasses is how many passes the node loop has taken.
func nodePasses(t *testing.T) (n int) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "node" {
					n += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return n
}
