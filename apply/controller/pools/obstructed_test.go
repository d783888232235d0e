package pools

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// A taint that keeps nodes from being drained is named as long as one waits for it; the pool is
// stalled when nothing else is left to follow.
func TestObstructedDrainIsNamed(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Generation: 1}}
	obstacle := plan.PoolWait{Pool: "gpu", Restriction: &plan.Restriction{For: []string{"gpu"}, Obstacle: "taint a:NoSchedule=b of somebody else lets pods come"}}
	turn := plan.PoolWait{Pool: "gpu", Restriction: &plan.Restriction{For: []string{"gpu"}, Turn: true}}
	for name, c := range map[string]struct {
		waits             map[plan.PoolWait]int
		condition, reason string
		says              string
	}{
		"beside others": {map[plan.PoolWait]int{obstacle: 1, turn: 2}, v1.ReconcilingCondition, v1.WaitingForBudgetReason, "3 nodes wait: nodes take turns in the rollout of pool \"gpu\"; of them 1: taint a:NoSchedule=b"},
		"alone":         {map[plan.PoolWait]int{obstacle: 2}, v1.StalledCondition, v1.DrainObstructedReason, "2 nodes wait: taint a:NoSchedule=b of somebody else lets pods come"},
	} {
		facts := poolFacts{outcome: plan.PoolOutcome{State: plan.PoolStateActive}, counts: fleet.Counts{Waits: c.waits}, settled: true}
		status, _ := poolStatus(pool, facts)
		condition := meta.FindStatusCondition(status.Conditions, c.condition)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != c.reason || !strings.Contains(condition.Message, c.says) {
			t.Errorf("%s: %s is %+v", name, c.condition, condition)
		}
	}
}
