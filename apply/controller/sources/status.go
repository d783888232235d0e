package sources

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/source"
)

// refusal says why a revision is not taken.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// pause says why a source is not followed for now.
type pause struct {
	reason  string
	message string
}

// pauseOf says of a source in a state why it is not followed; nil where it is.
func pauseOf(state plan.SourceOutcomeState) *pause {
	const holds = "the repository is not polled, the pools stay"
	switch state {
	case plan.SourceStateSuspended:
		return &pause{v1.SuspendedReason, "spec.suspend is true: " + holds}
	case plan.SourceStatePaused:
		return &pause{v1.PausedReason, fmt.Sprintf("annotation %s is %s: %s", v1.ReconcileAnnotation, v1.Disabled, holds)}
	default:
		return nil
	}
}

// sourceFacts are what a source's status is made of: why it is paused, or what
// the last poll found and what came of it.
type sourceFacts struct {
	pause *pause
	*fetchState
	// standing is the revision that the pools in the cluster are of; empty where
	// there is none yet.
	standing string
	// plan is what the pass did; failure says why it did not.
	plan    *plan.PoolsPlan
	failure error
	// window is what the revision waits for, be it that it is refused besides, or what
	// its deletes wait for; nil where nothing waits. Awaited is the plan of a revision
	// that waits; nil where it is refused besides.
	window  *plan.WindowWait
	awaited *plan.PoolsPlan
	// hook is the webhook of the source.
	hook hook
	// recreated are pools that have to be gone before they can be created again.
	recreated []string
}

// report writes the status when it has changed, and an event for a trouble that
// began. It is refused with a conflict when the cache is behind: the same change
// would be written, and the same event recorded, twice.
func (r *Reconciler) report(ctx context.Context, src *v1.NodePoolSource, facts sourceFacts) error {
	status := sourceStatus(src, facts)
	was, unowned := meta.FindStatusCondition(src.Status.Conditions, v1.ReadyCondition), src.Status.Unowned
	hookWas := meta.FindStatusCondition(src.Status.Conditions, v1.WebhookReadyCondition)
	if written, err := r.writeStatus(ctx, src, status); err != nil || !written {
		return err
	}
	is := meta.FindStatusCondition(status.Conditions, v1.ReadyCondition)
	switch {
	case was != nil && was.Status == is.Status && was.Message == is.Message:
	case is.Reason == v1.WaitingForWindowReason, is.Reason == v1.WaitingForSourceReason:
		r.event(src, corev1.EventTypeNormal, is.Reason, "wait", "%s", is.Message)
	case is.Status == metav1.ConditionFalse && facts.pause == nil:
		r.event(src, corev1.EventTypeWarning, is.Reason, "reconcile", "%s", is.Message)
	case is.Status == metav1.ConditionTrue && was != nil && was.Status == metav1.ConditionFalse:
		r.event(src, corev1.EventTypeNormal, "Recovered", "reconcile", "%s", is.Message)
	}
	hookIs := meta.FindStatusCondition(status.Conditions, v1.WebhookReadyCondition)
	if hookIs != nil && hookIs.Status == metav1.ConditionFalse && (hookWas == nil || hookWas.Message != hookIs.Message) {
		r.event(src, corev1.EventTypeWarning, hookIs.Reason, "reconcile", "webhook: %s", hookIs.Message)
	}
	if status.Unowned > unowned {
		r.event(src, corev1.EventTypeWarning, v1.NotOwnedReason, "prune", "%s", describeUnowned(facts.plan.Unowned))
	}
	return nil
}

// writeStatus reports whether there was something to write, and it is written. The
// source is then as the API server has it.
func (r *Reconciler) writeStatus(ctx context.Context, src *v1.NodePoolSource, status v1.NodePoolSourceStatus) (bool, error) {
	if equality.Semantic.DeepEqual(src.Status, status) {
		return false, nil
	}
	changed := src.DeepCopy()
	changed.Status = status
	patch := client.MergeFromWithOptions(src, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, changed, patch, client.FieldOwner(v1.FieldManager)); err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("status of source %q: %w", src.Name, err))
	}
	*src = *changed
	return true, nil
}

func (r *Reconciler) event(src *v1.NodePoolSource, kind, reason, action, format string, args ...any) {
	loop.Event(r.events, src, kind, reason, action, format, args...)
}

// sourceStatus says how far a source is followed. It is the same status for the
// same facts.
func sourceStatus(src *v1.NodePoolSource, facts sourceFacts) v1.NodePoolSourceStatus {
	status := *src.Status.DeepCopy()
	status.ObservedGeneration = src.Generation
	conditions := loop.Conditions{List: &status.Conditions, Generation: src.Generation}
	set := func(c condition) { conditions.Set(c.kind, c.status, c.reason, c.message) }
	if facts.pause != nil {
		for _, kind := range []string{v1.ReadyCondition, v1.ReconcilingCondition, v1.StalledCondition} {
			set(condition{kind, metav1.ConditionFalse, facts.pause.reason, facts.pause.message})
		}
		return status
	}
	status.LastHandledReconcileAt = facts.request
	facts.hook.report(src, &status)
	if facts.revision != "" {
		status.LastAttemptedRevision = facts.revision
	}
	if facts.plan != nil {
		facts.plan.Remember(src, facts.good, facts.approved, &status)
		status.Pools, status.Unowned = int32(len(facts.pools)), int32(len(facts.plan.Unowned))
	}
	for _, c := range facts.conditions(status.ApprovedPrune) {
		set(c)
	}
	if block := (*plan.ReleaseBlock)(nil); errors.As(facts.failure, &block) {
		conditions.SetReleaseBlocked(block)
		status.BlockedRelease = plan.BlockedReleaseOf(src, facts.good)
	} else if facts.plan != nil {
		conditions.SetReleaseBlocked(nil)
	}
	// Without a plan nobody knows anew: what was held back still is.
	if facts.plan != nil || facts.awaited != nil || meta.FindStatusCondition(status.Conditions, v1.PruneBlockedCondition) == nil {
		set(facts.pruneBlocked(status.ApprovedPrune))
	}
	return status
}

type condition struct {
	kind    string
	status  metav1.ConditionStatus
	reason  string
	message string
}

// conditions reports each stage on its own, and the first that failed as the state
// of the whole.
func (facts sourceFacts) conditions(approved *v1.ApprovedPrune) []condition {
	fetched := condition{v1.FetchedCondition, metav1.ConditionTrue, v1.SucceededReason, "read " + facts.revision}
	valid := condition{v1.ValidCondition, metav1.ConditionTrue, v1.SucceededReason, fmt.Sprintf("%s valid", pools(len(facts.pools)))}
	if facts.revision == "" {
		valid = condition{v1.ValidCondition, metav1.ConditionUnknown, v1.ProgressingReason, "no revision was read yet"}
	}
	whole := condition{v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason, facts.describeApplied(approved)}
	state := v1.ReadyCondition

	fail := func(c *condition, as, reason, message string) {
		if c != nil {
			c.status, c.reason, c.message = metav1.ConditionFalse, reason, message
		}
		if whole.status == metav1.ConditionTrue {
			whole.status, whole.reason, whole.message, state = metav1.ConditionFalse, reason, message, as
		}
	}
	if facts.unreachable != nil {
		as := v1.ReconcilingCondition
		if errors.Is(facts.unreachable, source.ErrInvalid) {
			as = v1.StalledCondition
		}
		fail(&fetched, as, source.Reason(facts.unreachable), describe(facts.unreachable))
	}
	unread, refused := (*source.Error)(nil), (*refusal)(nil)
	switch {
	case facts.refused != nil && errors.As(facts.refused, &unread):
		if facts.unreachable == nil {
			fail(&fetched, v1.StalledCondition, facts.refused.reason, facts.notTaken(facts.refused.err))
		}
		valid = condition{v1.ValidCondition, metav1.ConditionUnknown, facts.refused.reason, "no pool was read of " + facts.revision}
	case facts.refused != nil:
		fail(&valid, v1.StalledCondition, facts.refused.reason, facts.notTaken(facts.refused.err))
	case facts.wait() != nil:
		fail(nil, v1.ReconcilingCondition, v1.WaitingForWindowReason, facts.describeWait(facts.wait()))
	case errors.As(facts.failure, &refused):
		as, invalid := refused.state(&valid)
		fail(invalid, as, refused.reason, facts.notTaken(refused.err))
	}
	if facts.failure != nil && whole.status == metav1.ConditionTrue {
		fail(nil, v1.ReconcilingCondition, v1.ApplyReason, describe(facts.failure))
	}
	if facts.plan != nil && facts.plan.Blocked != nil {
		as, reason := blockedState(facts.plan.Blocked)
		fail(nil, as, reason, describe(facts.plan.Blocked))
	}
	if facts.plan != nil && len(facts.plan.Postponed) > 0 {
		fail(nil, v1.ReconcilingCondition, v1.WaitingForWindowReason, facts.describePostponed())
	}
	if len(facts.recreated) > 0 {
		fail(nil, v1.ReconcilingCondition, v1.ProgressingReason, describeRecreated(facts.recreated))
	}
	all := []condition{whole, fetched, valid}
	for _, kind := range []string{v1.ReconcilingCondition, v1.StalledCondition} {
		c := condition{kind, metav1.ConditionFalse, whole.reason, whole.message}
		if kind == state {
			c.status = metav1.ConditionTrue
		}
		all = append(all, c)
	}
	return all
}

// state is the condition of the whole that a refusal sets, and that of the stage which it
// fails: a revision that waits for an approval or for another source is valid.
func (r *refusal) state(valid *condition) (as string, fails *condition) {
	switch r.reason {
	case v1.WaitingForSourceReason:
		return v1.ReconcilingCondition, nil
	case v1.ReleaseBlockedReason:
		return v1.StalledCondition, nil
	}
	return v1.StalledCondition, valid
}

// blockedState is the condition of the whole that a blocked prune sets, and its reason.
func blockedState(blocked *plan.PruneBlock) (as, reason string) {
	if blocked.Soon {
		return v1.ReconcilingCondition, v1.WaitingForSourceReason
	}
	return v1.StalledCondition, v1.PruneBlockedReason
}

// describeApplied says what was applied, and what is kept beside that.
func (facts sourceFacts) describeApplied(approved *v1.ApprovedPrune) string {
	text := fmt.Sprintf("applied %s of %s", pools(len(facts.pools)), facts.good)
	if facts.plan != nil && len(facts.plan.Kept) > 0 {
		text += "; kept, though no longer in the repository, as it is paused or its pruning is disabled: " + listed(facts.plan.Kept, ", ")
	}
	if facts.plan != nil && len(facts.plan.Handed) > 0 {
		text += "; " + describeHanded(facts.plan.Handed)
	}
	if facts.plan != nil && len(facts.plan.Unowned) > 0 {
		text += "; " + describeUnowned(facts.plan.Unowned)
	}
	if approved != nil {
		text += "; " + describeApproved(approved)
	}
	return text
}

func (facts sourceFacts) pruneBlocked(approved *v1.ApprovedPrune) condition {
	p := facts.plan
	if p == nil {
		p = facts.awaited
	}
	switch {
	case p == nil:
		return condition{v1.PruneBlockedCondition, metav1.ConditionUnknown, v1.ProgressingReason, "no revision was carried out yet"}
	case p.Blocked != nil && p.Blocked.Soon:
		return condition{v1.PruneBlockedCondition, metav1.ConditionUnknown, v1.WaitingForSourceReason, describe(p.Blocked)}
	case p.Blocked != nil:
		return condition{v1.PruneBlockedCondition, metav1.ConditionTrue, v1.PruneBlockedReason, describe(p.Blocked)}
	case approved != nil:
		return condition{v1.PruneBlockedCondition, metav1.ConditionFalse, v1.PruneApprovedReason, describeApproved(approved)}
	default:
		return condition{v1.PruneBlockedCondition, metav1.ConditionFalse, v1.SucceededReason, "nothing is held back"}
	}
}
