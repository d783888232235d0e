package controller

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Somebody else's taint goes that has kept off that of a pool, on all nodes at once: that of the
// pool comes as its rollout lets it, whatever else goes with it.
func TestTaintComesInItsTurnWhenAnotherOneGoes(t *testing.T) {
	names := []string{"turn-a", "turn-b", "turn-c"}
	w := newCanaryWorld(t, names...)
	theirs := corev1.Taint{Key: "example.com/alone", Value: "theirs", Effect: corev1.TaintEffectNoSchedule}
	for _, name := range names {
		w.changeNode(name, func(node *corev1.Node) {
			node.Spec.Taints = append(node.Spec.Taints, theirs)
			node.Labels["example.com/driver"] = "theirs"
		})
	}
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/driver"] = "ours"
		pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: theirs.Key, Value: "ours", Effect: theirs.Effect})
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(0))}
	})
	w.hasReason(v1.StalledCondition, v1.ConflictReason, theirs.Key)
	has := func(value string) (nodes int) {
		for _, name := range names {
			if slices.ContainsFunc(w.get(name).Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == theirs.Key && taint.Value == value }) {
				nodes++
			}
		}
		return nodes
	}
	for _, name := range names {
		w.changeNode(name, func(node *corev1.Node) {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == theirs.Key })
			delete(node.Labels, "example.com/driver")
		})
	}
	w.hasReason(v1.ReconcilingCondition, v1.WaitingForBudgetReason, "3 nodes")
	if nodes := has("ours"); nodes > 0 {
		t.Errorf("with a budget of 0, %d nodes have the taint of the pool", nodes)
	}
	w.change("batch", func(pool *v1.NodePool) { pool.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1)) })
	w.eventually("all nodes have the taint of the pool", func() error {
		if nodes := has("ours"); nodes < len(names) {
			return fmt.Errorf("%d have", nodes)
		}
		return nil
	})
}
