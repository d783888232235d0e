package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// One leader after the other, with clocks that are ten minutes apart. Nodes that join get
// what their pools say, by either clock, in one write. A rollout goes on where a leader
// left it whose clock is ahead: nobody waits until another clock has caught up.
func TestClocksApart(t *testing.T) {
	cluster.Long(t)
	w := newWorld(t)
	clockIs := func(by time.Duration) {
		t.Helper()
		w.stop()
		w.stop = runLoops(t, w.config, Options{clock: &loop.Clock{
			Now: func() time.Time { return time.Now().Add(by) }, After: time.After,
		}}, testr.NewWithOptions(t, testr.Options{Verbosity: -1}))
	}
	const ahead, behind = 5 * time.Minute, -5 * time.Minute
	tier, nodes := 0, []string{"a", "b", "c"}
	right := func(names ...string) {
		t.Helper()
		for _, name := range names {
			w.carries(name, map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": fmt.Sprint(tier)}, fmt.Sprintf("example.com/batch=%d:NoSchedule", tier))
		}
	}
	change := func() {
		t.Helper()
		w.inUse(nodes...)
		tier++
		w.change("batch", func(pool *v1.NodePool) {
			pool.Spec.Labels["example.com/tier"] = v1.LabelValue(fmt.Sprint(tier))
			pool.Spec.Taints[0].Value = fmt.Sprint(tier)
		})
	}
	joins := func(name string) {
		t.Helper()
		mark := w.mark()
		w.node(name, role("batch"))
		right(name)
		nodes = append(nodes, name)
		w.isReady("batch", int32(len(nodes)))
		if writes, _ := w.nodeWrites(mark); writes[name] != 1 {
			t.Errorf("node %s joined in %d writes, want one", name, writes[name])
		}
	}

	clockIs(ahead)
	for _, name := range nodes {
		w.node(name, role("batch"))
	}
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec:
  labels: {example.com/tier: "0"}
  taints: [{key: example.com/batch, value: "0", effect: NoSchedule}]
  rollout: {maxUnavailable: 1, minReady: 1s}
`)
	w.isReady("batch", 3)
	joins("d")
	for _, next := range []time.Duration{behind, ahead} {
		change() // the leader goes while nodes take turns
		clockIs(next)
		right(nodes...)
		w.isReady("batch", int32(len(nodes)))
		joins(fmt.Sprint("joined-", tier))
	}
}
