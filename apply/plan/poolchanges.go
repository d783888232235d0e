package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// poolChanges carries out what becomes of the NodePools: what the revision says, and
// what the outcome of each pool says then. Those that are carried out have our
// finalizer, and those that are being deleted go when they are released.
func (d *Difference) poolChanges(cluster Cluster, after []*v1.NodePool, outcomes map[string]PoolOutcome, expansion *render.Expansion) {
	planned := make(map[string]PoolChange, len(d.Pools.Changes))
	for _, change := range d.Pools.Changes {
		planned[change.Name] = change
		if change.Action == Delete {
			deleted := change.leaving()
			d.PoolChanges = append(d.PoolChanges, d.release(change.Live, deleted, PoolOutcomeOf(deleted, d.accepted, expansion, nil, PoolFacts{}))...)
		}
	}
	live := make(map[string]*v1.NodePool, len(cluster.Pools))
	for _, pool := range cluster.Pools {
		live[pool.Name] = pool
	}
	for _, pool := range after {
		outcome := outcomes[pool.Name]
		if outcome.Finalizer == FinalizerReleased {
			d.PoolChanges = append(d.PoolChanges, d.release(pool, pool.DeepCopy(), outcome)...)
		}
		if !pool.DeletionTimestamp.IsZero() {
			continue
		}
		kept := withFinalizer(pool, outcome)
		change, changes := planned[pool.Name]
		switch {
		case changes:
			change.after = kept
			d.PoolChanges = append(d.PoolChanges, change)
		case kept != pool:
			d.PoolChanges = append(d.PoolChanges, PoolChange{Action: Update, Name: pool.Name, Live: live[pool.Name], Want: pool, after: kept})
		}
	}
	slices.SortStableFunc(d.PoolChanges, comparePoolChanges)
}

func comparePoolChanges(a, b PoolChange) int {
	return cmp.Or(cmp.Compare(position(a.Action), position(b.Action)), cmp.Compare(a.Name, b.Name))
}

// position is the order in which pools are written: those that go are the last.
func position(action Action) int {
	if action == Delete {
		return 1
	}
	return 0
}

// withFinalizer is a pool with our finalizer, where the outcome wants it; the same
// pool where it has that already.
func withFinalizer(pool *v1.NodePool, outcome PoolOutcome) *v1.NodePool {
	if outcome.Finalizer != FinalizerEnsured || slices.Contains(pool.Finalizers, v1.ReleaseFinalizer) {
		return pool
	}
	kept := pool.DeepCopy()
	kept.Finalizers = append(kept.Finalizers, v1.ReleaseFinalizer)
	return kept
}

// release is what becomes of a pool that is deleted, now or already. The API server
// removes it when it has no finalizer any more, ours or those of others. Deleted is
// the pool while it waits for that.
func (d *Difference) release(live, deleted *v1.NodePool, outcome PoolOutcome) []PoolChange {
	rest := slices.DeleteFunc(slices.Clone(live.Finalizers), func(name string) bool { return name == v1.ReleaseFinalizer })
	ours := len(rest) < len(live.Finalizers)
	carriers := d.carriers[live.Name]
	switch {
	case ours && outcome.State == PoolStateBlocked:
		// Reported among those that are held.
	case ours && !outcome.Releases(len(carriers)):
		d.Problems = append(d.Problems, Problem{Kind: PoolStays, Pool: live.Name,
			Err: fmt.Errorf("pool %q is deleted, and stays until it is released by nodes that are paused: %s", live.Name, strings.Join(carriers, ", "))})
	case len(rest) > 0:
		deleted.Finalizers = rest
		d.Problems = append(d.Problems, Problem{Kind: PoolStays, Pool: live.Name,
			Err: fmt.Errorf("pool %q is deleted, and stays until others take their finalizers off it: %s", live.Name, strings.Join(rest, ", "))})
	default:
		return []PoolChange{{Action: Delete, Name: live.Name, Live: live}}
	}
	switch {
	case live.DeletionTimestamp.IsZero():
		return []PoolChange{{Action: Delete, Name: live.Name, Live: live, after: deleted}}
	case len(deleted.Finalizers) < len(live.Finalizers):
		return []PoolChange{{Action: Update, Name: live.Name, Live: live, Want: live, after: deleted}}
	}
	return nil
}
