package sources

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// wait is why the revision waits for a window; nil where it does not, or where it is
// refused besides.
func (facts sourceFacts) wait() *plan.WindowWait {
	wait := (*plan.WindowWait)(nil)
	if errors.As(facts.failure, &wait) {
		return wait
	}
	return nil
}

// describeWait says which revision waits for what, and which one holds meanwhile.
func (facts sourceFacts) describeWait(wait *plan.WindowWait) string {
	text := fmt.Sprintf("revision %s is valid, and waits: %v", facts.good, wait)
	if facts.standing != "" {
		text += fmt.Sprintf("; %s stays", facts.standing)
	}
	if facts.awaited != nil && facts.awaited.Blocked != nil {
		text += "; when it is applied: " + describe(facts.awaited.Blocked)
	}
	return text
}

// describePostponed says which pools are deleted when a window opens.
func (facts sourceFacts) describePostponed() string {
	return fmt.Sprintf("applied %s but for what it deletes, which waits (%s): %v", facts.good, listed(facts.plan.Postponed, ", "), facts.window)
}

// awaits notes what a window holds up of the outcome of a revision.
func (facts *sourceFacts) awaits(wait *plan.WindowWait, outcome plan.RevisionOutcome) {
	switch {
	case wait == nil:
	case wait.Standing:
		if outcome.Plan != nil && len(outcome.Plan.Postponed) > 0 {
			facts.window = wait
		}
	case outcome.Refused != nil:
		facts.window = wait
		if errors.Is(outcome.Refused, wait) {
			facts.awaited = outcome.Plan
		}
	}
}

// repair puts back what was changed by hand in the pools of the revision that stands,
// while a newer one waits. A process that was started meanwhile does not know its pools:
// then they are left as they are, and nodes follow them, until the newer one is applied.
func (r *Reconciler) repair(ctx context.Context, src *v1.NodePoolSource, state *fetchState, live []*v1.NodePool, numbers plan.Numbers) error {
	if state.applied == "" || state.applied != src.Status.Revision {
		return nil
	}
	revision := plan.RevisionOf(src, state.applied, state.appliedPools)
	revision.Numbers = numbers
	outcome, err := plan.RevisionOutcomeOf(revision, live, r.nodes(ctx))
	if err != nil || outcome.Refused != nil {
		return err // what is refused is reported with the newer revision
	}
	repairs := outcome.Plan.Repairs()
	if len(repairs.Changes) == 0 {
		return nil
	}
	if err := refused(r.writeRevision(ctx, src, repairs)); err != nil {
		return err
	}
	r.event(src, corev1.EventTypeNormal, "Repaired", "apply", "%s at %s, which stays until a window opens", describePools(repairs), state.applied)
	return nil
}

// nextOf is when the next pass is due: with the next poll, or earlier where the pools
// could not be written, the Secret of the webhook not be read, or when the window opens
// that a revision waits for.
func (r *Reconciler) nextOf(src *v1.NodePoolSource, state *fetchState, facts sourceFacts) time.Duration {
	failure, wait := facts.failure, facts.wait()
	if wait != nil {
		failure = nil
	}
	next := r.next(src, state, failure)
	if facts.hook.retried() {
		next = min(next, r.options.MaxRetry)
	}
	if facts.window == nil || facts.window.Next.IsZero() {
		return next
	}
	return max(min(next, facts.window.Next.Sub(r.now())), time.Millisecond)
}
