package plan

import (
	"errors"
	"time"

	nodev1 "k8s.io/api/node/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// PoolOutcomeState is the one thing that matters most about a pool.
type PoolOutcomeState string

// The states of a pool, the first that applies.
const (
	// PoolStatePaused: its annotation pauses it. Nothing is written for it, also while it
	// is being deleted.
	PoolStatePaused PoolOutcomeState = "paused"
	// PoolStateBlocked: what its definition or its deletion would do to nodes waits for an
	// approval.
	PoolStateBlocked PoolOutcomeState = "blocked"
	// PoolStateReleasing: it is being deleted, and goes when its nodes are released.
	PoolStateReleasing PoolOutcomeState = "releasing"
	// PoolStateFaulty: it cannot be carried out, because of itself or of a pool around it.
	PoolStateFaulty PoolOutcomeState = "faulty"
	// PoolStateActive: it is carried out.
	PoolStateActive PoolOutcomeState = "active"
)

// PoolStateOf returns the state of a pool that is one of an expansion.
func PoolStateOf(pool *v1.NodePool, pools *render.Expansion) PoolOutcomeState {
	switch {
	case v1.IsDisabled(pool, v1.ReconcileAnnotation):
		return PoolStatePaused
	case blockOf(pool.Name, pools) != nil:
		return PoolStateBlocked
	case !pool.DeletionTimestamp.IsZero():
		return PoolStateReleasing
	case pools.Problem(pool.Name) != nil:
		return PoolStateFaulty
	default:
		return PoolStateActive
	}
}

// Releasing reports whether a pool is being deleted and releases its nodes, unless that
// waits for an approval: a paused one keeps them.
func Releasing(pool *v1.NodePool) bool {
	return !pool.DeletionTimestamp.IsZero() && !v1.IsDisabled(pool, v1.ReconcileAnnotation)
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
	// Block is what waits for an approval; nil unless the state is [PoolStateBlocked].
	Block     *ReleaseBlock
	Finalizer Finalizer
	// RuntimeClass is nil where the RuntimeClass is left as it is.
	RuntimeClass *RuntimeClassChange
	// ClassProblem is why the RuntimeClass cannot be what the pool wants.
	ClassProblem error
	// ClassHeld reports that the RuntimeClass must stay as it is, although it may not
	// be what the pool wants: the pool is not carried out, or one around it is paused.
	ClassHeld bool
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

// PoolOutcomeOf decides what becomes of the own objects of a pool that is one of an
// expansion. The RuntimeClass is the one in the cluster that has the name of the
// pool's; nil where there is none.
func PoolOutcomeOf(pool *v1.NodePool, pools *render.Expansion, class *nodev1.RuntimeClass, facts PoolFacts) PoolOutcome {
	o := PoolOutcome{
		State: PoolStateOf(pool, pools), Problem: pools.Problem(pool.Name), ClassHeld: pools.HoldsRuntimeClass(pool.Name),
	}
	switch deleted := !pool.DeletionTimestamp.IsZero(); {
	case o.State == PoolStatePaused:
	case deleted:
		o.Finalizer = FinalizerReleased
	case o.State == PoolStateActive:
		o.Finalizer = FinalizerEnsured
	}
	if o.State == PoolStateBlocked {
		o.Block = blockOf(pool.Name, pools)
	}
	if o.ClassHeld || o.Finalizer != FinalizerEnsured {
		return o
	}
	if pool.IsRolloutPolicy() {
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

// MembershipObserved reports whether the status has to note what the pool now says of
// its members, once its nodes follow it: see [HeldReleases].
func (o PoolOutcome) MembershipObserved() bool { return o.State == PoolStateActive }

// blockOf is what makes a pool wait for an approval; nil where it does not.
func blockOf(pool string, pools *render.Expansion) *ReleaseBlock {
	block := (*ReleaseBlock)(nil)
	if errors.As(pools.Held(pool), &block) {
		return block
	}
	return nil
}
