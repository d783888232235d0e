package pools

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// facts are what is known of the nodes of a pool that wait. Before a pass over every node
// has ended, since the start and since the pool has changed, it is not known which do.
func (r *Reconciler) facts(ctx context.Context, pool string, pools *fleet.Snapshot) (plan.PoolFacts, error) {
	if pools.Rollouts == nil {
		return plan.PoolFacts{}, nil
	}
	known, err := r.fleet.EveryNodeObserved(ctx)
	if err != nil {
		return plan.PoolFacts{}, err
	}
	facts := plan.PoolFacts{Rollouts: pools.Rollouts, Now: r.now()}
	steps, settled := r.fleet.Steps(pool, pools.Since(pool))
	facts.Steps = steps
	facts.Undecided = !(known && settled) && pools.Rollouts.MayWait(pool, facts.Now)
	return facts, nil
}

// rolloutStatus is nil where no change of the pool waits.
func rolloutStatus(facts poolFacts) *v1.RolloutStatus {
	waiting := facts.counts.Waiting()
	first := firstWait(facts.counts)
	if first == nil {
		first = facts.outcome.ClassWait
	}
	if first == nil {
		return nil
	}
	status := &v1.RolloutStatus{Waiting: int32(waiting)}
	if !first.Next.IsZero() {
		status.NextWindow = &metav1.Time{Time: first.Next}
	}
	return status
}

// firstWait is the wait that ends first.
func firstWait(counts fleet.Counts) *plan.PoolWait {
	return plan.FirstWait(slices.Collect(maps.Keys(counts.Waits)))
}

// waitReason is the reason of the condition of a pool of which changes wait.
func waitReason(counts fleet.Counts) string {
	switch wait := firstWait(counts); {
	case wait.Turn:
		return v1.WaitingForBudgetReason
	case wait.Paused:
		return v1.RolloutPausedReason
	default:
		return v1.WaitingForWindowReason
	}
}

// describeWait says on how many nodes changes wait, and for what.
func describeWait(counts fleet.Counts) string {
	waiting := counts.Waiting()
	verb := " wait: "
	if waiting == 1 {
		verb = " waits: "
	}
	return nodes(int32(waiting)) + verb + sanitize.Line(firstWait(counts).String())
}

// rolloutEvents reports once that changes of a pool wait.
func (r *Reconciler) rolloutEvents(before *v1.NodePool, after v1.NodePoolStatus, facts poolFacts) {
	if before.Status.Rollout != nil || after.Rollout == nil {
		return
	}
	what, reason := "the RuntimeClass waits: ", v1.WaitingForWindowReason
	if wait := facts.outcome.ClassWait; facts.counts.Waiting() > 0 {
		what, reason = describeWait(facts.counts), waitReason(facts.counts)
	} else if wait != nil {
		what += sanitize.Line(wait.String())
	}
	r.event(before, corev1.EventTypeNormal, reason, "reconcile", "%s", what)
}
