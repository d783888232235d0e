package controller

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Whoever takes a wall off takes its record with it, while the pool waits for its turn: the wall
// is back at once.
func TestWallTakenWithItsRecordComesAtOnce(t *testing.T) {
	w := newCanaryWorld(t, "taken-a", "taken-b")
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = "2"
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(0))}
	})
	w.hasReason(v1.ReconcilingCondition, v1.WaitingForBudgetReason, "2 nodes")
	for range 3 {
		w.changeNode("taken-a", func(node *corev1.Node) {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "example.com/tier" })
			delete(node.Labels, "example.com/tier")
			delete(node.Annotations, v1.AppliedAnnotation)
		})
		w.eventually("the wall is back, with its record", func() error {
			node := w.get("taken-a")
			wall := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "example.com/tier" && taint.Value == "1" })
			if !wall || node.Annotations[v1.AppliedAnnotation] == "" {
				return fmt.Errorf("it has the taints %v and the record %q", node.Spec.Taints, node.Annotations[v1.AppliedAnnotation])
			}
			return nil
		})
	}
}
