package controller

import (
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A closed inner pool does not change what the open pool around it has put there.
func TestOverrideOfAClosedPoolWaits(t *testing.T) {
	w := newWorld(t)
	end := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	w.node("a", role("base"))
	w.node("b", role("base"))
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: base}
spec: {labels: {example.com/tier: "1"}}
`)
	w.isReady("base", 2)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: over}
spec: {parent: base, priority: 1, nodeNames: [b]}
`)
	w.isReady("over", 1)
	w.inUse("a", "b")
	w.change("over", func(pool *v1.NodePool) {
		pool.Spec.Rollout = excluded(end)
		pool.Spec.Labels = map[string]v1.LabelValue{"example.com/tier": "2"}
	})
	w.waits("over", 1, end)
	w.becomesIdle()
	if node := w.get("b"); node.Labels["example.com/tier"] != "1" {
		t.Errorf("over is closed, and its change of a label stands on b: %v", node.Labels)
	}
}
