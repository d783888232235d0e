package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Phase is how far nodes are in following a pool, in a word.
type Phase string

// The phases, those that need a person first.
const (
	// Halted: nodes have failed, and no further node follows.
	Halted Phase = "Halted"
	// Stalled: something else has to be put right before work goes on.
	Stalled Phase = "Stalled"
	// Approval: the next wave waits for an approval.
	Approval Phase = "Approval"
	// Paused: the pool is, or a rollout that its nodes wait for.
	Paused Phase = "Paused"
	// Unknown: no controller has reported on the pool.
	Unknown Phase = "Unknown"
	// Progressing: nodes are being brought up to date.
	Progressing Phase = "Progressing"
	// Waiting: nodes follow later without anybody's help: in a window, after a soak, in
	// their turn.
	Waiting Phase = "Waiting"
	// Deleting: the pool goes when its nodes are released.
	Deleting Phase = "Deleting"
	// Empty: the pool has no nodes.
	Empty Phase = "Empty"
	// Complete: all nodes have followed.
	Complete Phase = "Complete"
)

var phases = []Phase{Halted, Stalled, Approval, Paused, Unknown, Progressing, Waiting, Deleting, Empty, Complete}

func (p Phase) rank() int { return slices.Index(phases, p) }

// Failed reports whether nothing goes on before somebody has put something right.
func (p Phase) Failed() bool { return p == Halted || p == Stalled }

var phaseOfReason = map[string]Phase{
	v1.WaitingForApprovalReason: Approval,
	v1.RolloutPausedReason:      Paused,
	v1.WaitingForWindowReason:   Waiting,
	v1.WaitingForBudgetReason:   Waiting,
	v1.SoakingReason:            Waiting,
}

// phaseOf reads the phase of a pool off its status. What that says of an earlier
// generation does not count: the pool is another one by now.
func phaseOf(pool *v1.NodePool) Phase {
	status := &pool.Status
	ready := meta.FindStatusCondition(status.Conditions, v1.ReadyCondition)
	switch {
	case v1.IsDisabled(pool, v1.ReconcileAnnotation):
		return Paused
	case ready == nil:
		return Unknown
	case outdated(pool):
		return Progressing
	case halted(pool) != nil:
		return Halted
	case meta.IsStatusConditionTrue(status.Conditions, v1.StalledCondition):
		if ready.Reason == v1.RolloutHaltedReason {
			return Halted
		}
		return Stalled
	case !pool.DeletionTimestamp.IsZero():
		return Deleting
	case ready.Status == metav1.ConditionTrue && status.Nodes != nil && status.Nodes.Desired == 0:
		return Empty
	case ready.Status == metav1.ConditionTrue:
		return Complete
	}
	if phase, waits := phaseOfReason[ready.Reason]; waits {
		return phase
	}
	return Progressing
}

// outdated reports whether the status is not of what the pool says now.
func outdated(pool *v1.NodePool) bool {
	return pool.Status.ObservedGeneration != pool.Generation
}

// halted is why the rollout of a pool goes no further; nil where it is not halted, or was
// resumed.
func halted(pool *v1.NodePool) *v1.RolloutHalt {
	if pool == nil || pool.Status.Rollout == nil || pool.Status.Rollout.Halt == nil || pool.Status.Rollout.Halt.Resumed {
		return nil
	}
	return pool.Status.Rollout.Halt
}

// conditionOf is the one of Stalled, Reconciling and Ready that tells the phase, whose last
// transition is since when it is so.
func conditionOf(conditions []metav1.Condition) *metav1.Condition {
	for _, kind := range []string{v1.StalledCondition, v1.ReconcilingCondition} {
		if condition := meta.FindStatusCondition(conditions, kind); condition != nil && condition.Status == metav1.ConditionTrue {
			return condition
		}
	}
	return meta.FindStatusCondition(conditions, v1.ReadyCondition)
}
