package fleet

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// Snapshot is all pools at one epoch, worked out.
type Snapshot struct {
	*render.Expansion
	Epoch uint64
	// Rollouts say which changes of the pools wait.
	Rollouts *plan.Rollouts

	// all are the Rollouts of pools of which none has one.
	all func() *plan.Rollouts

	pools map[string]poolState
	// Accepted is what the snapshot is made of, until when deletions are gathered, and numbers
	// are those of the sources.
	Accepted *plan.Acceptance
	until    time.Time
	numbers  plan.Numbers
}

// over reports whether the time is over for which deletions are gathered.
func (s *Snapshot) over(now time.Time) bool { return s.Accepted.Gathers && !now.Before(s.until) }

// poolState is one pool of a snapshot.
type poolState struct {
	// line is the pool and what encloses it, as nodes follow them, the pool first.
	line []poolVersion
	// since is the epoch from which on the line is what it is.
	since uint64
	// definition is the cache's, which nobody may change, and accepted is what nodes follow of
	// it; nil for nothing.
	definition, accepted *v1.NodePool
}

func newSnapshot(definitions []*v1.NodePool, numbers plan.Numbers, accepted *plan.Acceptance, until time.Time, epoch uint64, before *Snapshot) *Snapshot {
	s := &Snapshot{
		Expansion: render.Expand(accepted.Pools), Epoch: epoch, Rollouts: plan.RolloutsOf(accepted.Pools),
		all:   sync.OnceValue(func() *plan.Rollouts { return plan.AllRollouts(accepted.Pools) }),
		pools: make(map[string]poolState, len(definitions)), Accepted: accepted, until: until, numbers: numbers,
	}
	known := byName(accepted.Pools)
	for _, pool := range definitions {
		state := poolState{line: []poolVersion{{name: pool.Name}}, since: epoch, definition: pool, accepted: known[pool.Name]}
		if state.accepted != nil {
			state.line = lineOf(state.accepted, known)
		}
		if before != nil {
			was, found := before.pools[pool.Name]
			if found && slices.Equal(was.line, state.line) && before.Accepted.Pending(pool.Name).Equal(accepted.Pending(pool.Name)) {
				state.since = was.since
			}
		}
		s.pools[pool.Name] = state
	}
	return s
}

// AllRollouts are the Rollouts, be there none: see [plan.AllRollouts].
func (s *Snapshot) AllRollouts() *plan.Rollouts {
	if s.Rollouts != nil {
		return s.Rollouts
	}
	return s.all()
}

// IsMadeFrom reports whether the snapshot has a pool as it is here.
func (s *Snapshot) IsMadeFrom(pool *v1.NodePool) bool {
	state, found := s.pools[pool.Name]
	return found && SameDefinition(state.definition, pool) && sameAccepted(s.numbers, state.definition, pool)
}

// Drops reports whether a pool is to be deleted, as its source has dropped it.
func (s *Snapshot) Drops(pool *v1.NodePool) bool { return s.numbers.Drops(pool) }

// Follows reports whether nodes follow all that a pool says.
func (s *Snapshot) Follows(pool *v1.NodePool) bool {
	state := s.pools[pool.Name]
	return state.accepted != nil && state.accepted.Generation == pool.Generation && state.accepted.DeletionTimestamp.IsZero()
}

// Halt is that of the rollout of a pool by its status, as it was when the snapshot was made;
// nil for none, and where nodes take no turns in it.
func (s *Snapshot) Halt(pool string) *plan.Halt {
	if definition := s.pools[pool].definition; definition != nil && s.Rollouts.Limits(pool) {
		return plan.HaltOf(definition)
	}
	return nil
}

// As is a pool as nodes follow it; nil where they follow nothing of it.
func (s *Snapshot) As(pool string) *v1.NodePool { return s.pools[pool].accepted }

// Around are the pools around one, as nodes follow them, from the inside out.
func (s *Snapshot) Around(pool string) []*v1.NodePool {
	if as := s.As(pool); as != nil {
		return plan.Around(as, s.As)
	}
	return nil
}

// Since is the epoch from which on a pool, and what encloses it, is what it is.
func (s *Snapshot) Since(pool string) uint64 { return s.pools[pool].since }

// Revisions are those that pools were last taken from, sorted; none of pools that do not
// come from Git.
func (s *Snapshot) Revisions(pools []string) []string {
	var revisions []string
	for _, name := range pools {
		if pool := s.pools[name].definition; pool != nil && pool.Annotations[v1.RevisionAnnotation] != "" {
			revisions = append(revisions, pool.Annotations[v1.RevisionAnnotation])
		}
	}
	slices.Sort(revisions)
	return slices.Compact(revisions)
}

// ChangedSince reports whether a pool that a node is in, or carries keys of, is another
// one than when the node was observed.
func (s *Snapshot) ChangedSince(o *Observation) bool {
	changed := func(name string) bool {
		state, found := s.pools[name]
		return !found || state.since > o.Epoch
	}
	return slices.ContainsFunc(o.Members, changed) || slices.ContainsFunc(o.Recorded, changed) || slices.ContainsFunc(o.Left, changed)
}

// regrouped reports whether nodes may be in other pools than by an earlier snapshot:
// pools have come or gone, or choose their members in another way.
func (s *Snapshot) regrouped(before *Snapshot) bool {
	if before == nil || len(s.pools) != len(before.pools) {
		return true
	}
	for name, is := range s.pools {
		was, known := before.pools[name]
		if !known || is.since > before.Epoch && !sameMembers(was.accepted, is.accepted) {
			return true
		}
	}
	return false
}

// sameMembers reports whether two definitions of a pool choose the same nodes, the pools
// around it left aside.
func sameMembers(a, b *v1.NodePool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Spec.Parent == b.Spec.Parent && a.DeletionTimestamp.IsZero() == b.DeletionTimestamp.IsZero() &&
		slices.Equal(a.Spec.NodeNames, b.Spec.NodeNames) && equality.Semantic.DeepEqual(a.Spec.Selector, b.Spec.Selector)
}

// poolVersion is what there is about a pool that nodes have to follow.
type poolVersion struct {
	name       string
	uid        types.UID
	generation int64
	deleted    bool
	// These annotations decide what becomes of nodes.
	reconcile, requestedAt, approveRelease, approveRollout, resumeRollout, expediteRollout string
	// number is under which revision the source has written the pool.
	number string
}

func versionOf(pool client.Object) poolVersion {
	annotations := pool.GetAnnotations()
	return poolVersion{
		name: pool.GetName(), uid: pool.GetUID(), generation: pool.GetGeneration(),
		deleted:     !pool.GetDeletionTimestamp().IsZero(),
		reconcile:   annotations[v1.ReconcileAnnotation],
		requestedAt: annotations[v1.RequestedAtAnnotation],
		number:      annotations[v1.RevisionNumberAnnotation],

		approveRelease: annotations[v1.ApproveReleaseAnnotation],
		approveRollout: annotations[v1.ApproveRolloutAnnotation], resumeRollout: annotations[v1.ResumeRolloutAnnotation],
		expediteRollout: annotations[v1.ExpediteRolloutAnnotation],
	}
}

// SameDefinition reports whether two states of a pool say the same.
func SameDefinition(a, b client.Object) bool { return versionOf(a) == versionOf(b) }

// sameAccepted reports whether nodes follow the same of two states of a pool, and the same waits
// for an approval.
func sameAccepted(numbers plan.Numbers, a, b *v1.NodePool) bool {
	x, y := numbers.Accepted(a), numbers.Accepted(b)
	if plan.IsBlocked(a) != plan.IsBlocked(b) || (x == nil) != (y == nil) {
		return false
	}
	return x == nil || versionOf(x) == versionOf(y)
}

// lineOf is a pool and what encloses it. A parent that does not exist is in it by its
// name alone; a cycle is gone round once.
func lineOf(pool *v1.NodePool, known map[string]*v1.NodePool) []poolVersion {
	line := []poolVersion{versionOf(pool)}
	for parent := pool.Spec.Parent; parent != ""; {
		if slices.ContainsFunc(line, func(p poolVersion) bool { return p.name == parent }) {
			break
		}
		next, found := known[parent]
		if !found {
			return append(line, poolVersion{name: parent})
		}
		line = append(line, versionOf(next))
		parent = next.Spec.Parent
	}
	return line
}
