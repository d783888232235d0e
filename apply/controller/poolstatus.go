package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// maxNamed is how many nodes or conflicts a message names; the rest is counted. What
// is kept of the conflicts of a node has as many of each pool.
const maxNamed = 3

// poolFacts are what a pool's status is made of.
type poolFacts struct {
	outcome plan.PoolOutcome
	figures figures
	// settled reports whether a pass over every node has ended since the pool changed.
	settled bool
	// failed is what went wrong with the RuntimeClass.
	failed *failure
}

// poolStatus says how far a pool is carried out. It is the same status for the
// same facts, so that nothing is written while nothing happens.
func poolStatus(pool *v1.NodePool, facts poolFacts) v1.NodePoolStatus {
	status := *pool.Status.DeepCopy()
	status.Nodes = &facts.figures.NodeCounts
	status.RuntimeClassName = v1.RuntimeClassName(pool.Name)
	status.Revision = pool.Annotations[v1.RevisionAnnotation]
	if facts.settled {
		if facts.outcome.MembershipObserved() {
			status.ObservedMembership = plan.Membership(pool)
		}
		status.ObservedGeneration = pool.Generation
		status.LastHandledReconcileAt = pool.Annotations[v1.RequestedAtAnnotation]
	}
	s := summarize(pool, facts)
	generation := max(0, status.ObservedGeneration) // a condition cannot be of none
	set := func(kind string, on bool, reason, message string) {
		condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: generation, Reason: reason, Message: clip(message)}
		if on {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	set(v1.ReadyCondition, s.state == ready, s.reason, s.message)
	set(v1.ReconcilingCondition, s.state == reconciling, s.reason, s.message)
	set(v1.StalledCondition, s.state == stalled, s.reason, s.message)
	if conflicts := describeConflicts(pool.Name, facts.figures); conflicts != "" {
		set(v1.ConflictedCondition, true, v1.ConflictReason, conflicts)
	} else {
		set(v1.ConflictedCondition, false, v1.SucceededReason, "every key is the pool's to set")
	}
	setReleaseBlocked(&status.Conditions, pool.Generation, facts.outcome.Block)
	status.Contests = contestsStatus(facts.figures.contests)
	if status.Contests == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1.ContestedCondition)
	} else {
		set(v1.ContestedCondition, true, v1.ContestedReason, describeContests(pool.Name, status.Contests))
	}
	joinable, reason, message := describeSelfJoin(pool)
	set(v1.SelfJoinableCondition, joinable, reason, message)
	return status
}

// setReleaseBlocked reports what waits for an approval. Where nothing ever did, it
// reports nothing.
func setReleaseBlocked(conditions *[]metav1.Condition, generation int64, block *plan.ReleaseBlock) {
	condition := metav1.Condition{
		Type: v1.ReleaseBlockedCondition, Status: metav1.ConditionFalse, ObservedGeneration: generation,
		Reason: v1.SucceededReason, Message: "nothing is held back",
	}
	if block != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, v1.ReleaseBlockedReason, clip(block.Error())
	} else if meta.FindStatusCondition(*conditions, v1.ReleaseBlockedCondition) == nil {
		return
	}
	meta.SetStatusCondition(conditions, condition)
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

type summary struct {
	state   state
	reason  string
	message string
}

// upToDate ends the part of a message that says how far a pool is.
const upToDate = " up to date"

// summarize names the one thing that matters most about a pool.
func summarize(pool *v1.NodePool, facts poolFacts) summary {
	switch outcome := facts.outcome; outcome.State {
	case plan.PoolStatePaused:
		return paused(pool)
	case plan.PoolStateBlocked:
		return summary{stalled, v1.ReleaseBlockedReason, outcome.Block.Error()}
	case plan.PoolStateReleasing:
		return releasing(facts.figures)
	case plan.PoolStateFaulty:
		return faulty(outcome.Problem)
	default:
		return active(pool, facts)
	}
}

// active says how far a pool is that is carried out.
func active(pool *v1.NodePool, facts poolFacts) summary {
	f := facts.figures
	progress := fmt.Sprintf("%d of %s%s", f.Updated, nodes(f.Desired), upToDate)
	switch {
	case facts.failed != nil:
		return summary{stalled, v1.RuntimeClassReason, apply.Brief(facts.failed.err)}
	case !facts.settled:
		return summary{reconciling, v1.ProgressingReason, progress + " so far"}
	case f.conflicts > 0:
		return summary{stalled, v1.ConflictReason, progress + "; " + describeConflicts(pool.Name, f)}
	case len(f.contests) > 0:
		return summary{stalled, v1.ContestedReason, progress + "; " + describeContests(pool.Name, contestsStatus(f.contests))}
	case f.stuck > 0:
		return summary{stalled, v1.NodesReason, progress + "; " + describeProblems(f.problems)}
	case len(f.problems) > 0:
		return summary{reconciling, v1.NodesReason, progress + "; " + describeProblems(f.problems)}
	case facts.outcome.ClassHeld:
		return summary{ready, v1.SucceededReason, progress + "; the RuntimeClass stays as it is while a pool around this one is paused"}
	case f.Desired == 0:
		return summary{ready, v1.SucceededReason, "no node is in this pool" + describeUnmatchable(pool)}
	default:
		return summary{ready, v1.SucceededReason, progress + describeUnmatchable(pool)}
	}
}

func paused(pool *v1.NodePool) summary {
	what := "nothing is written for this pool"
	if !pool.DeletionTimestamp.IsZero() {
		what = "the pool is to be deleted, and its nodes are released once the annotation is gone"
	}
	return summary{idle, v1.PausedReason, fmt.Sprintf("annotation %s is %s: %s", v1.ReconcileAnnotation, v1.Disabled, what)}
}

// faulty says why a pool cannot be carried out.
func faulty(problem error) summary {
	const stay = "; its nodes are left as they are"
	parent, invalid, block := (*render.ParentError)(nil), (*field.Error)(nil), (*plan.ReleaseBlock)(nil)
	switch {
	case errors.As(problem, &parent):
		return summary{stalled, v1.ParentReason, apply.Brief(problem) + stay}
	case errors.Is(problem, errGathered):
		return summary{reconciling, v1.ProgressingReason, "a pool around it is being deleted" + stay}
	case errors.As(problem, &block):
		return summary{stalled, v1.ReleaseBlockedReason, fmt.Sprintf("pool %q around it waits for an approval", block.Pool) + stay}
	case errors.As(problem, &invalid):
		return summary{stalled, v1.InvalidReason, apply.Brief(problem) + stay}
	default:
		return summary{stalled, v1.SelectorReason, apply.Brief(problem) + stay}
	}
}

// describeUnmatchable names entries of spec.nodeNames that no node can match. The API
// server refuses them, but not in a pool that is older than the rule: there they do no
// harm, and the other entries hold.
func describeUnmatchable(pool *v1.NodePool) string {
	var entries []string
	for i, entry := range pool.Spec.NodeNames {
		if len(v1.ValidateNodeNamePattern(entry, nil)) > 0 {
			entries = append(entries, fmt.Sprintf("spec.nodeNames[%d]: %q can match no node", i, entry))
		}
	}
	if entries == nil {
		return ""
	}
	return "; " + nameSome(entries)
}

// releasing tells of a pool that is being deleted.
func releasing(f figures) summary {
	s := summary{reconciling, v1.ReleasingReason, nodes(int32(f.recorded)) + " still to be released"}
	if f.stuck > 0 {
		s.state = stalled
	}
	if len(f.problems) > 0 {
		s.message += "; " + describeProblems(f.problems)
	}
	return s
}

func nodes(count int32) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

// describeConflicts names the first conflicts of a pool and counts the others; it is
// empty where there are none.
func describeConflicts(pool string, f figures) string {
	var described []string
	for _, node := range slices.Sorted(maps.Keys(f.conflictsOn)) {
		for _, conflict := range f.conflictsOn[node].Of(pool) {
			if len(described) == maxNamed {
				return joinAndCount(described, f.conflicts-len(described))
			}
			described = append(described, "node "+node+": "+conflict.String())
		}
	}
	return joinAndCount(described, f.conflicts-len(described))
}

func describeProblems(byNode map[string]string) string {
	var described []string
	more := 0
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		if len(described) < maxNamed {
			described = append(described, "node "+node+" "+byNode[node])
		} else {
			more++
		}
	}
	return joinAndCount(described, more)
}

// andMore parts what a message names from what it only counts.
const andMore = "; and "

func joinAndCount(described []string, more int) string {
	text := strings.Join(described, "; ")
	if more > 0 {
		text += andMore + fmt.Sprintf("%d more", more)
	}
	return text
}
