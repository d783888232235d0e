package controller

import "testing"

// A wall, a weaker pool within it, and a third pool, weaker than the wall and stronger than the
// inner one, want a label and a taint. The third one gets them on nodes outside the wall alone,
// and whoever is paused, no node is written.
func TestThirdPoolGetsNoKeyOfAWall(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("wall"))
	w.node("n2", nil)
	pool := func(name, spec string) {
		w.pool("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: " + name + "}\n" +
			"spec: {" + spec + ", labels: {tenant: " + name + "}, taints: [{key: tenant, value: " + name + ", effect: NoSchedule}]}\n")
	}
	has := func(node, value string, roles ...string) {
		t.Helper()
		labels := role(roles...)
		labels["tenant"] = value
		w.carries(node, labels, "tenant="+value+":NoSchedule")
	}
	writesNoNode := func(action func()) {
		t.Helper()
		mark := w.mark()
		action()
		w.settle()
		for _, write := range w.writesSince(mark) {
			if write.Object.Resource == "nodes" {
				t.Errorf("a node is written: %s", write)
			}
		}
	}
	pool("wall", "priority: 9")
	pool("inner", "parent: wall, nodeNames: ['*']")
	has("n1", "inner", "wall", "inner")

	pool("third", "priority: 5, nodeNames: ['*']")
	has("n1", "wall", "wall", "inner", "third")
	has("n2", "third", "third")
	for _, name := range []string{"third", "inner", "wall"} {
		for _, how := range []string{pausing, resuming} {
			writesNoNode(func() { w.kubectl("annotate", "nodepools.nodes.lailin.xyz", name, how) })
		}
	}
	has("n1", "wall", "wall", "inner", "third")

	// A paused inner pool keeps its values against the wall, until the third one is back.
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "third")
	has("n1", "inner", "wall", "inner")
	writesNoNode(func() { w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "inner", pausing) })
	pool("third", "priority: 5, nodeNames: ['*']")
	has("n1", "wall", "wall", "inner", "third")
	writesNoNode(func() { w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "inner", resuming) })

	w.isReady("third", 2)
	w.isReady("wall", 1)
	w.isReady("inner", 1)
}
