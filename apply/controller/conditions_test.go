package controller

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// sets writes a condition of a node, as a monitor of nodes does.
func (w *canaryWorld) sets(name string, status corev1.ConditionStatus) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"GPUHealthy","status":%q,"lastHeartbeatTime":%q}]}}`, status, metav1.Now().UTC().Format("2006-01-02T15:04:05Z"))
	w.kubectl("patch", "node", name, "--subresource=status", "--type=strategic", "-p", patch)
}

// A canary that stays ready, and no longer has a condition that its pool names, halts the
// rollout; a node that does not have it before does not begin. A revert brings back what was
// before.
func TestConditionHaltsTheRollout(t *testing.T) {
	names := []string{"health-a", "health-b"}
	w := newCanaryWorld(t, names...)
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"], pool.Spec.Taints[0].Value = "2", "2"
		pool.Spec.Rollout = &v1.Rollout{
			Waves:          []v1.Wave{{Name: "canary", Nodes: new(intstr.FromInt32(1)), Approval: v1.ApprovalRequired}},
			NodeConditions: []v1.NodeCondition{{Type: "GPUHealthy"}},
		}
	})
	w.hasReason(v1.ReconcilingCondition, v1.WaitingForBudgetReason, "2 nodes are not available: node health-a has no condition GPUHealthy")
	for _, name := range names {
		w.sets(name, corev1.ConditionTrue)
	}
	w.approval()
	if moved := w.moved("2"); !slices.Equal(moved, names[:1]) {
		t.Fatalf("%v have moved, want the canary, which meets the condition by now", moved)
	}
	w.sets(names[0], corev1.ConditionFalse)
	w.hasReason(v1.StalledCondition, v1.RolloutHaltedReason, "node health-a has condition GPUHealthy=False after it has followed")
	if halt := w.halt(); halt.Node != names[0] || halt.Lacks != "has condition GPUHealthy=False" {
		t.Errorf("the status has %+v", halt)
	}
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"], pool.Spec.Taints[0].Value = "1", "1"
	})
	w.isReady("batch", int32(len(names)))
	if moved := w.moved("1"); !slices.Equal(moved, names) {
		t.Errorf("reverted, %v have what was before", moved)
	}
}
