package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// poolChanges plans what becomes of the NodePools: what the revision says, and
// what the controller itself does with them then. It puts its finalizer on those
// that it carries out and that lack it, and lets go of those that are being deleted.
func (d *Difference) poolChanges(cluster Cluster, after []*v1.NodePool, expansion *render.Expansion) {
	planned := make(map[string]PoolChange, len(d.Pools.Changes))
	for _, change := range d.Pools.Changes {
		planned[change.Name] = change
		if change.Action == Delete {
			d.PoolChanges = append(d.PoolChanges, d.leave(change.Live, true, change.ApproveRelease)...)
		}
	}
	live := make(map[string]*v1.NodePool, len(cluster.Pools))
	for _, pool := range cluster.Pools {
		live[pool.Name] = pool
	}
	for _, pool := range after {
		if !pool.DeletionTimestamp.IsZero() {
			if !v1.IsDisabled(pool, v1.ReconcileAnnotation) {
				d.PoolChanges = append(d.PoolChanges, d.leave(pool, false, false)...)
			}
			continue
		}
		kept := keep(pool, expansion)
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

// holds reports whether a pool waits for an approval.
func (d *Difference) holds(pool string) bool {
	return !d.assumed[pool] && slices.ContainsFunc(d.Held, func(block *ReleaseBlock) bool { return block.Pool == pool })
}

// position is the order in which pools are written: those that go are the last.
func position(action Action) int {
	if action == Delete {
		return 1
	}
	return 0
}

// keep is a pool with what the controller keeps on it; the same pool where it has
// that already.
func keep(pool *v1.NodePool, expansion *render.Expansion) *v1.NodePool {
	if expansion.Holds(pool.Name) || slices.Contains(pool.Finalizers, v1.ReleaseFinalizer) {
		return pool
	}
	kept := pool.DeepCopy()
	kept.Finalizers = append(kept.Finalizers, v1.ReleaseFinalizer)
	return kept
}

// leave is what becomes of a pool that is deleted, now or already. It goes when
// nothing holds it any more: no node that carries keys of it, and no finalizer of
// others.
func (d *Difference) leave(pool *v1.NodePool, now, approve bool) []PoolChange {
	rest := slices.DeleteFunc(slices.Clone(pool.Finalizers), func(name string) bool { return name == v1.ReleaseFinalizer })
	ours := len(rest) < len(pool.Finalizers)
	nodes := d.carriers[pool.Name]
	left := PoolChange{Live: pool, ApproveRelease: approve}.leaving()
	switch {
	case ours && d.holds(pool.Name):
		// Told among those that are held.
	case ours && len(nodes) > 0:
		d.Problems = append(d.Problems, Problem{Kind: PoolStays, Pool: pool.Name,
			Err: fmt.Errorf("pool %q is deleted, and stays until it is released by nodes that are paused: %s", pool.Name, strings.Join(nodes, ", "))})
	case len(rest) > 0:
		left.Finalizers = rest
		d.Problems = append(d.Problems, Problem{Kind: PoolStays, Pool: pool.Name,
			Err: fmt.Errorf("pool %q is deleted, and stays until others take their finalizers off it: %s", pool.Name, strings.Join(rest, ", "))})
	default:
		return []PoolChange{{Action: Delete, Name: pool.Name, Live: pool}}
	}
	switch {
	case now:
		return []PoolChange{{Action: Delete, Name: pool.Name, Live: pool, after: left}}
	case len(left.Finalizers) < len(pool.Finalizers):
		return []PoolChange{{Action: Update, Name: pool.Name, Live: pool, Want: pool, after: left}}
	}
	return nil
}
