package plan

import (
	"time"

	nodev1 "k8s.io/api/node/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// PoolOutcomeState is the one thing that matters most about a pool.
type PoolOutcomeState string

// The states of a pool, the first that applies.
const (
	// PoolStatePaused: its annotation pauses it. Nodes follow what was accepted before; so they
	// do if it is being deleted.
	PoolStatePaused PoolOutcomeState = "paused"
	// PoolStateBlocked: what its definition or its deletion would do to nodes waits for an
	// approval.
	PoolStateBlocked PoolOutcomeState = "blocked"
	// PoolStateReleasing: it is being deleted, and goes when its nodes are released.
	PoolStateReleasing PoolOutcomeState = "releasing"
	// PoolStateFaulty: it cannot be carried out, because of itself or of a pool around it.
	PoolStateFaulty PoolOutcomeState = "faulty"
	// PoolStatePending: what it says is accepted in a moment.
	PoolStatePending PoolOutcomeState = "pending"
	// PoolStateActive: it is carried out.
	PoolStateActive PoolOutcomeState = "active"
)

// PoolStateOf returns the state of a pool, by what is accepted, worked out.
func PoolStateOf(pool *v1.NodePool, accepted *Acceptance, pools *render.Expansion) PoolOutcomeState {
	pending := accepted.Pending(pool.Name)
	switch {
	case isPaused(pool):
		return PoolStatePaused
	case pending != nil && pending.Block != nil:
		return PoolStateBlocked
	case pools.Leaves(pool.Name):
		return PoolStateReleasing
	case pools.Problem(pool.Name) != nil, pending != nil && pending.Problem != nil:
		return PoolStateFaulty
	case pending != nil, accepted != nil && accepted.Accepts(pool.Name):
		return PoolStatePending
	default:
		return PoolStateActive
	}
}

// Finalizer is what becomes of our finalizer on an object.
type Finalizer string

// What becomes of a finalizer. FinalizerKept leaves it as it is, there or not.
const (
	FinalizerKept    Finalizer = ""
	FinalizerEnsured Finalizer = "ensured"
	// FinalizerReleased: it is removed as soon as nothing has to be waited for any
	// more.
	FinalizerReleased Finalizer = "released"
)

// PoolOutcome is what becomes of a pool's own objects: of its finalizer, and of its
// RuntimeClass. The pool reconciler executes it, statuses and explain print it, and
// [Diff] carries it out on what it was given.
type PoolOutcome struct {
	State PoolOutcomeState
	// Problem is why the pool cannot be carried out; nil where it can. It may also be
	// there in another state than [PoolStateFaulty].
	Problem error
	// Pending is why nodes do not follow what the pool says; nil where they do, or it is
	// accepted now. Block is what waits for an approval; nil for nothing.
	Pending   *Pending
	Block     *ReleaseBlock
	Finalizer Finalizer
	// RuntimeClass is nil where the RuntimeClass is left as it is.
	RuntimeClass *RuntimeClassChange
	// ClassProblem is why the RuntimeClass cannot be what the pool wants.
	ClassProblem error
	// Undecided reports that the RuntimeClass stays as it is until it is known which nodes
	// wait; that may become known without an event.
	Undecided bool
	// ClassWait is why the RuntimeClass is not replaced yet for a new handler.
	ClassWait *PoolWait
}

// PoolFacts are what a controller knows of a pool besides what stands in the cluster. The
// zero value is nothing, and then nothing waits.
type PoolFacts struct {
	// Rollouts say at the time Now whether the RuntimeClass may be replaced.
	Rollouts *Rollouts
	Now      time.Time
	// Undecided reports that nodes may wait, and that it is not known yet which: then a
	// RuntimeClass that is there stays as it is.
	Undecided bool
	// Steps are what members have that wait.
	Steps []*ClassStep
	// Carried reports that a node carries keys of the pool, or that this is not known.
	Carried bool
}

// PoolOutcomeOf decides what becomes of the own objects of a pool, by what is accepted, worked
// out. The RuntimeClass is the one in the cluster that has the name of the pool's; nil where
// there is none.
func PoolOutcomeOf(pool *v1.NodePool, accepted *Acceptance, pools *render.Expansion, class *nodev1.RuntimeClass, facts PoolFacts) PoolOutcome {
	o := PoolOutcome{State: PoolStateOf(pool, accepted, pools), Problem: pools.Problem(pool.Name)}
	if pending := accepted.Pending(pool.Name); pending != nil {
		o.Pending, o.Block = pending, pending.Block
		if o.Problem == nil {
			o.Problem = pending.Problem
		}
	}
	switch {
	case pools.Leaves(pool.Name):
		o.Finalizer = FinalizerReleased
	case !pools.Defines(pool.Name) || pools.Problem(pool.Name) != nil:
	case pool.DeletionTimestamp.IsZero():
		o.Finalizer = FinalizerEnsured
	}
	if o.Finalizer == FinalizerReleased || !pools.Defines(pool.Name) || pools.Problem(pool.Name) != nil {
		return o
	}
	if pools.IsRolloutPolicy(pool.Name) {
		if !facts.Carried {
			o.RuntimeClass = unwantedClass(class, pool)
		}
		return o
	}
	want := pools.RuntimeClass(pool.Name)
	if o.Undecided = facts.Undecided && class != nil; o.Undecided {
		return o
	}
	want = steppedClass(class, want, v1.RoleLabel(pool.Name), pools.Line(pool.Name), facts.Steps)
	change, err := RuntimeClass(class, want, pool)
	switch {
	case err != nil:
		o.ClassProblem = err
	case change.Action == Replace:
		if o.ClassWait = facts.Rollouts.ClassWait(pool.Name, facts.Now); o.ClassWait == nil {
			o.RuntimeClass = &change
		}
	default:
		o.RuntimeClass = &change
	}
	return o
}

// Releases reports whether the finalizer is to be removed now: the pool is being
// deleted, and so many nodes still carry keys of it. It is the one answer that waits
// for the nodes.
func (o PoolOutcome) Releases(carriers int) bool {
	return o.Finalizer == FinalizerReleased && carriers == 0
}
