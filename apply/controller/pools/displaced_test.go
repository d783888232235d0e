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

// Pods that find no place are named by the pools whose nodes wait for their turn in that
// rollout, and by no others.
func TestPodsWithoutAPlaceAreNamed(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Generation: 1}}
	turn := plan.PoolWait{Pool: "gpu", Restriction: &plan.Restriction{For: []string{"fleet", "gpu"}, Turn: true}}
	for by, c := range map[string]struct{ reason, says string }{
		"fleet": {v1.WaitingForPodsReason, "; no further node is drained while 2 pods find no place: pod shop/a, for one"},
		"other": {v1.WaitingForBudgetReason, ""},
	} {
		facts := poolFacts{outcome: plan.PoolOutcome{State: plan.PoolStateActive}, counts: fleet.Counts{Waits: map[plan.PoolWait]int{turn: 3}}, settled: true}
		facts.displaced = map[string]plan.Displaced{by: {Pods: 2, First: "shop/a"}}
		status, _ := poolStatus(pool, facts)
		condition := meta.FindStatusCondition(status.Conditions, v1.ReconcilingCondition)
		if condition == nil || condition.Reason != c.reason || !strings.HasSuffix(condition.Message, c.says) {
			t.Errorf("held by %s: %+v", by, condition)
		}
	}
}
