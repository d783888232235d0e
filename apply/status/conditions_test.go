package status_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/status"
)

// A node that does not meet a condition of its pool is named, and counts as unavailable;
// where it has followed, it counts as failed.
func TestConditionsOfNodes(t *testing.T) {
	for name, ready := range map[string]corev1.ConditionStatus{"met": corev1.ConditionTrue, "not met": corev1.ConditionFalse} {
		pool := poolOf("gpu", &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1)), NodeConditions: []v1.NodeCondition{{Type: "GPUHealthy"}}},
			reports(v1.ReconcilingCondition, v1.WaitingForBudgetReason, "1 of 3 nodes up to date; 2 nodes wait", time.Hour, 1, 3, 2))
		nodes := nodesOf(t, pool, 3)
		follow(t, &nodes[0], time.Hour, pool)
		nodes[0].Conditions = plan.ConditionsOf([]corev1.NodeCondition{{Type: "GPUHealthy", Status: ready}})
		only := status.Of(status.Cluster{Pools: []*v1.NodePool{pool}, Nodes: nodes}, now).Pools[0]
		broken := 0
		if ready != corev1.ConditionTrue {
			broken = 1
		}
		if *only.Nodes.Unavailable != broken || *only.Nodes.Failed != broken || strings.Contains(only.WaitsFor, "node gpu-01 has condition GPUHealthy=False") != (broken == 1) {
			t.Errorf("%s: unavailable %d, failed %d, and it waits for %q", name, *only.Nodes.Unavailable, *only.Nodes.Failed, only.WaitsFor)
		}
	}
}
