package pools

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// A pool whose rollout, or that of a pool that it waits for, takes too long for its next step
// says so, and what is waited for.
func TestStuckRolloutIsStalled(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Generation: 1}}
	stuck := plan.Stuck{Since: time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC), Deadline: 2 * time.Hour}
	waits := fleet.Counts{Waits: map[plan.PoolWait]int{{Pool: "gpu", Restriction: &plan.Restriction{For: []string{"fleet"}, Turn: true}}: 3}}
	drains := fleet.Counts{Evicting: map[string]string{"n1": "pod web/a: Cannot evict pod"}}
	for name, c := range map[string]struct {
		counts fleet.Counts
		of     string
		says   []string
	}{
		"its own":             {waits, "gpu", []string{`pool "gpu"`, "2026-11-25", "progressDeadline of 2h", "3 nodes wait"}},
		"that of another one": {waits, "fleet", []string{`pool "fleet"`, "3 nodes wait"}},
		"while it drains":     {drains, "gpu", []string{"pod web/a"}},
		"of no other pool":    {waits, "other", nil},
	} {
		facts := poolFacts{outcome: plan.PoolOutcome{State: plan.PoolStateActive}, counts: c.counts, settled: true}
		facts.stuck = map[string]plan.Stuck{c.of: stuck}
		status, _ := poolStatus(pool, facts)
		condition := meta.FindStatusCondition(status.Conditions, v1.StalledCondition)
		is := condition != nil && condition.Status == metav1.ConditionTrue && condition.Reason == v1.ProgressDeadlineExceededReason
		if is != (c.says != nil) {
			t.Errorf("%s: Stalled is %+v", name, condition)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(condition.Message, part) {
				t.Errorf("%s: %q does not say %q", name, condition.Message, part)
			}
		}
	}
}
