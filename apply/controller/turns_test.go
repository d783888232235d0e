package controller

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Nodes follow their pool one after the other, no more at a time than may be unavailable:
// those that are cordoned count, and do not begin; a controller that is started anew goes
// on where the one before it has ended.
func TestNodesTakeTurns(t *testing.T) {
	const count, minReady = 6, 2 * time.Second
	w := newWorld(t)
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("turn-%d", i))
		w.node(names[i], role("batch"))
	}
	w.isReadyNode(names...)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}}
`)
	w.isReady("batch", count)
	w.inUse(names...)
	cordon := func(node string, yes bool) {
		update(w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, func(node *corev1.Node) { node.Spec.Unschedulable = yes })
	}
	tier := func(value string) (nodes []string) {
		for _, name := range names {
			if w.get(name).Labels["example.com/tier"] == value {
				nodes = append(nodes, name)
			}
		}
		return nodes
	}
	cordon(names[0], true)
	cordon(names[1], true)
	mark := w.mark()
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = "2"
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(2)), MinReady: &metav1.Duration{Duration: minReady}}
	})
	w.poolIs("batch", "waits for its budget", func(pool *v1.NodePool) error {
		if pool.Status.Rollout == nil || pool.Status.Rollout.Waiting != count {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, v1.WaitingForBudgetReason)
	})
	if moved := tier("2"); len(moved) > 0 {
		t.Errorf("two nodes are cordoned, and %v have moved", moved)
	}
	cordon(names[1], false)
	w.eventually("two nodes have moved", func() error {
		if moved := tier("2"); len(moved) < 2 {
			return fmt.Errorf("%v have moved", moved)
		}
		return nil
	})
	w.stop()
	w.start()
	w.eventually("all but the cordoned node have moved", func() error {
		if waiting := tier("1"); !slices.Equal(waiting, names[:1]) {
			return fmt.Errorf("%v wait", waiting)
		}
		return nil
	})
	cordon(names[0], false)
	w.isReady("batch", count)
	w.hasRuntimeClass("node-pool-batch", "runc", map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"})

	var at []time.Time
	for _, name := range names {
		node := w.get(name)
		at = append(at, plan.ChangedAt(plan.StateOf(node)))
		if version := w.recordVersions()[name]; version != 3 {
			t.Errorf("the record of %s is of version %d", name, version)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	// One of two places was taken by the cordoned node until the last one.
	for i := range count - 2 {
		if at[i+1].Before(at[i].Add(minReady)) {
			t.Errorf("nodes began at %v: the %d. was not ready for %v when the next one began", at, i+1, minReady)
		}
	}
	if writes, _ := w.nodeWrites(mark); len(writes) != count || slices.Max(slices.Collect(maps.Values(writes))) != 1 {
		t.Errorf("the writes of nodes are %v, want one of each", writes)
	}
}
