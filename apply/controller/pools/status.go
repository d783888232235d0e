package pools

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// maxNamed is how many nodes or conflicts a message names; the rest is counted. What
// is kept of the conflicts of a node has as many of each pool.
const maxNamed = 3

// poolFacts are what a pool's status is made of.
type poolFacts struct {
	outcome plan.PoolOutcome
	counts  fleet.Counts
	// settled reports whether a pass over every node has ended since the pool changed.
	settled bool
	// follows reports whether nodes follow all that the pool says; accepted is what they follow,
	// and around are the pools around that.
	follows  bool
	accepted *v1.NodePool
	around   []*v1.NodePool
	// failed is what went wrong with the RuntimeClass.
	failed   *failure
	rollouts *plan.Rollouts
	rolloutFacts
}

// rolloutFacts are how far the rollouts are of a pool, and of those that it waits for.
type rolloutFacts struct {
	waves map[string]*plan.WaveState
	// over are the waves of the pool itself that are over.
	over  string
	halts map[string]*plan.Halt
	stuck map[string]plan.Stuck
	// unavailable are the nodes that use up budgets.
	unavailable map[string]plan.Unavailable
}

// poolStatus says how far a pool is carried out, and what troubles its conditions
// report. It is the same status for the same facts, so that nothing is written while
// nothing happens.
func poolStatus(pool *v1.NodePool, facts poolFacts) (v1.NodePoolStatus, troubles) {
	status := *pool.Status.DeepCopy()
	status.Nodes = &facts.counts.NodeCounts
	status.RuntimeClassName = ""
	if !pool.IsRolloutPolicy() {
		status.RuntimeClassName = v1.RuntimeClassName(pool.Name)
	}
	status.Revision = pool.Annotations[v1.RevisionAnnotation]
	if facts.follows && (status.Accepted == nil || status.Accepted.Generation != pool.Generation) {
		status.Accepted = plan.AcceptedSpecOf(pool)
	}
	if facts.settled {
		if as, f := facts.accepted, facts.counts; as != nil && as.DeletionTimestamp.IsZero() && facts.outcome.Problem == nil && f.Waiting()+len(f.Evicting) == 0 && len(f.Problems) == f.Stuck {
			facts.rollouts.Settle(&status, as, facts.around)
		}
		status.ObservedGeneration = pool.Generation
		status.LastHandledReconcileAt = pool.Annotations[v1.RequestedAtAnnotation]
	}
	s, found := summarize(pool, facts), troubles{}
	if s.state == stalled {
		found[v1.StalledCondition] = trouble{s.reason, s.named}
	}
	// A condition cannot be of no generation.
	conditions := loop.Conditions{List: &status.Conditions, Generation: max(0, status.ObservedGeneration)}
	set := conditions.SetTo
	set(v1.ReadyCondition, s.state == ready, s.reason, s.message)
	set(v1.ReconcilingCondition, s.state == reconciling, s.reason, s.message)
	set(v1.StalledCondition, s.state == stalled, s.reason, s.message)
	if conflicts := conflictsOf(pool.Name, facts.counts); conflicts.String() != "" {
		found[v1.ConflictedCondition] = trouble{v1.ConflictReason, conflicts.named}
		set(v1.ConflictedCondition, true, v1.ConflictReason, conflicts.String())
	} else {
		set(v1.ConflictedCondition, false, v1.SucceededReason, "every key is the pool's to set")
	}
	loop.Conditions{List: &status.Conditions, Generation: pool.Generation}.SetReleaseBlocked(facts.outcome.Block)
	status.Rollout = rolloutStatus(pool, facts)
	status.Contests = contestsStatus(facts.counts.Contests)
	if status.Contests == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1.ContestedCondition)
	} else {
		set(v1.ContestedCondition, true, v1.ContestedReason, contestsIn(pool.Name, status.Contests).String())
	}
	joinable, reason, message := describeSelfJoin(pool)
	set(v1.SelfJoinableCondition, joinable, reason, message)
	return status, found
}

// state is which of the three conditions Ready, Reconciling and Stalled is true.
type state int

const (
	ready state = iota
	reconciling
	stalled
	// idle is none of them: the pool is paused.
	idle
)

// summary is what the conditions Ready, Reconciling and Stalled report.
type summary struct {
	state   state
	reason  string
	message string
	// named is what the message names: all of it, but for how far the pool is and how
	// many more are counted.
	named []string
}

// summaryOf is a summary whose message names nothing but itself.
func summaryOf(s state, reason, message string) summary {
	return summary{s, reason, message, []string{message}}
}

// naming is a summary that says how far the pool is and names what is wrong.
func naming(s state, reason, progress string, wrong listing) summary {
	return summary{s, reason, progress + "; " + wrong.String(), wrong.named}
}

// summarize names the one thing that matters most about a pool.
func summarize(pool *v1.NodePool, facts poolFacts) summary {
	switch outcome := facts.outcome; outcome.State {
	case plan.PoolStatePaused:
		return paused(pool)
	case plan.PoolStateBlocked:
		return blocked(outcome.Block)
	case plan.PoolStateReleasing:
		return releasing(pool.Name, facts)
	case plan.PoolStateFaulty:
		return faulty(outcome)
	case plan.PoolStatePending:
		return pending(outcome.Pending)
	default:
		return active(pool, facts)
	}
}

// active says how far a pool is that is carried out.
func active(pool *v1.NodePool, facts poolFacts) summary {
	f := facts.counts
	progress := fmt.Sprintf("%d of %s up to date", f.Updated, nodes(f.Desired))
	haltedPool, halt := halted(pool.Name, facts)
	switch {
	case facts.failed != nil:
		return summaryOf(stalled, v1.RuntimeClassReason, apply.Brief(facts.failed.err))
	case halt != nil:
		return naming(stalled, v1.RolloutHaltedReason, progress, listing{named: []string{describeHalt(haltedPool, halt)}})
	case !facts.settled:
		return summaryOf(reconciling, v1.ProgressingReason, progress+" so far")
	case f.Conflicts > 0:
		return naming(stalled, v1.ConflictReason, progress, conflictsOf(pool.Name, f))
	case len(f.Contests) > 0:
		return naming(stalled, v1.ContestedReason, progress, contestsIn(pool.Name, contestsStatus(f.Contests)))
	case f.Stuck > 0:
		return naming(stalled, v1.NodesReason, progress, problemsOf(f.Problems))
	case len(f.Problems) > 0:
		return naming(reconciling, v1.NodesReason, progress, problemsOf(f.Problems))
	case f.Overdue > 0:
		return naming(stalled, v1.EvictionTimedOutReason, progress, problemsOf(f.Evicting))
	case isStuck(pool.Name, facts):
		return naming(stalled, v1.ProgressDeadlineExceededReason, progress, describeStuck(pool.Name, facts))
	case len(f.Evicting) > 0:
		return naming(reconciling, v1.EvictingReason, progress, problemsOf(f.Evicting))
	case f.Waiting() > 0 && firstWait(f).Obstacle != "":
		return naming(stalled, v1.DrainObstructedReason, progress, listing{named: []string{describeWait(facts)}})
	case f.Waiting() > 0:
		return summaryOf(reconciling, waitReason(facts), fmt.Sprintf("%s; %s", progress, describeWait(facts)))
	case facts.outcome.ClassWait != nil:
		return summaryOf(reconciling, v1.WaitingForWindowReason, fmt.Sprintf("%s; the RuntimeClass is replaced for its new handler later: %s", progress, sanitize.Line(facts.outcome.ClassWait.String())))
	case f.Desired == 0:
		return summaryOf(ready, v1.SucceededReason, "no node is in this pool")
	default:
		return summaryOf(ready, v1.SucceededReason, progress)
	}
}

func paused(pool *v1.NodePool) summary {
	what := "nodes follow the spec that was accepted before"
	if !pool.DeletionTimestamp.IsZero() {
		what = "the pool is to be deleted, and its nodes are released once the annotation is gone"
	}
	return summaryOf(idle, v1.PausedReason, fmt.Sprintf("annotation %s is %s: %s", v1.ReconcileAnnotation, v1.Disabled, what))
}

// pending says what a pool waits for to be accepted.
func pending(p *plan.Pending) summary {
	what := "it is accepted when what was written before it is"
	if p != nil && p.Reason == plan.PendingRevision {
		what = "the rest of its revision is still to be written"
	}
	return summaryOf(reconciling, v1.ProgressingReason, "nodes follow the spec that was accepted before: "+what)
}

// blocked says what waits for an approval.
func blocked(block *plan.ReleaseBlock) summary {
	s := summary{stalled, v1.ReleaseBlockedReason, block.Error(), []string{block.Remedy}}
	for _, loss := range block.Named() {
		s.named = append(s.named, loss.String())
	}
	return s
}

// faulty says why a pool cannot be carried out.
func faulty(outcome plan.PoolOutcome) summary {
	problem, stay := outcome.Problem, "; its nodes are left as they are"
	if outcome.Pending != nil {
		stay = "; its nodes follow the spec that was accepted before"
	}
	parent, invalid := (*render.ParentError)(nil), (*field.Error)(nil)
	switch {
	case errors.As(problem, &parent):
		return summaryOf(stalled, v1.ParentReason, apply.Brief(problem)+stay)
	case errors.As(problem, &invalid):
		return summaryOf(stalled, v1.InvalidReason, apply.Brief(problem)+stay)
	default:
		return summaryOf(stalled, v1.SelectorReason, apply.Brief(problem)+stay)
	}
}

// releasing says how far a pool is that is being deleted.
func releasing(pool string, facts poolFacts) summary {
	f := facts.counts
	left := nodes(int32(f.Recorded)) + " still to be released"
	if f.Waiting() > 0 {
		left += "; " + describeWait(facts)
	}
	haltedPool, halt := halted(pool, facts)
	if halt != nil {
		return naming(stalled, v1.RolloutHaltedReason, left, listing{named: []string{describeHalt(haltedPool, halt)}})
	}
	s := summaryOf(reconciling, v1.ReleasingReason, left)
	if len(f.Problems) > 0 {
		s = naming(reconciling, v1.ReleasingReason, left, problemsOf(f.Problems))
		s.named = append(s.named, left) // each node that goes is news
	}
	if f.Stuck > 0 {
		s.state = stalled
	}
	return s
}

func nodes(count int32) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

// conflictsOf names the first conflicts of a pool and counts the others.
func conflictsOf(pool string, f fleet.Counts) listing {
	var named []string
	for _, node := range slices.Sorted(maps.Keys(f.ConflictsOn)) {
		for _, conflict := range f.ConflictsOn[node].Of(pool) {
			if len(named) == maxNamed {
				return listing{named, f.Conflicts - len(named)}
			}
			named = append(named, "node "+node+": "+conflict.String())
		}
	}
	return listing{named, f.Conflicts - len(named)}
}

// problemsOf names the first nodes of which something else is wrong, and counts the
// others.
func problemsOf(byNode map[string]string) listing {
	var l listing
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		if len(l.named) < maxNamed {
			l.named = append(l.named, "node "+node+" "+byNode[node])
		} else {
			l.more++
		}
	}
	return l
}
