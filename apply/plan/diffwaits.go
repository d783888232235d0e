package plan

import (
	"cmp"
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// PoolWaiting is what of a difference does not happen at a moment, as nodes do not follow
// the changes of a pool yet.
type PoolWaiting struct {
	Pool string
	// Nodes is on how many nodes changes of the pool wait.
	Nodes int
	// Waits are what these nodes wait for, each once, the one that ends first before
	// others. They may be in other pools besides, which have rollouts of their own.
	Waits []*PoolWait
	// Class is why the RuntimeClass is not replaced yet; nil where it is, or stays.
	Class *PoolWait
}

// Waits returns what of the difference does not happen at a moment, by the windows that
// pools have afterwards, sorted by pool. The revision counts as applied at that moment: a
// pool that it changes has changed then. A node of which it is not known when it was made
// does not count as one that joins.
//
// A pool that is recreated waits for its release. What it puts on its nodes anew then is
// not part of it: that is decided when the pool is there again.
func (d *Difference) Waits(cluster Cluster, now time.Time) []PoolWaiting {
	pools := d.Accepted()
	rollouts := d.rolloutsAt(pools, now)
	if rollouts == nil {
		return nil
	}
	byPool := map[string]*PoolWaiting{}
	of := func(pool string) *PoolWaiting {
		if byPool[pool] == nil {
			byPool[pool] = &PoolWaiting{Pool: pool}
		}
		return byPool[pool]
	}
	shown := make(map[string]bool, len(d.Nodes))
	for _, node := range d.Nodes {
		shown[node.Name] = true
	}
	expansion, facts := d.Expansion(), NodeFacts{Rollouts: rollouts, Now: now}
	for _, node := range cluster.Nodes {
		if !shown[node.Name] {
			continue
		}
		for _, wait := range NodeOutcomeOf(node, expansion, facts).Wait {
			waiting := of(wait.Pool)
			waiting.Nodes++
			if !slices.ContainsFunc(waiting.Waits, wait.Equal) {
				waiting.Waits = append(waiting.Waits, wait)
			}
		}
	}
	for _, change := range d.RuntimeClasses {
		for _, pool := range pools {
			if change.Action != Replace || change.Name() != v1.RuntimeClassName(pool.Name) {
				continue
			}
			if wait := rollouts.ClassWait(pool.Name, now); wait != nil {
				of(pool.Name).Class = wait
			}
		}
	}
	waits := make([]PoolWaiting, 0, len(byPool))
	for _, waiting := range byPool {
		slices.SortFunc(waiting.Waits, comparePoolWaits)
		waits = append(waits, *waiting)
	}
	slices.SortFunc(waits, func(a, b PoolWaiting) int { return cmp.Compare(a.Pool, b.Pool) })
	return waits
}

// rolloutsAt are those of the pools that a difference leaves, if it is applied at a moment:
// what it changes counts as changed then.
func (d *Difference) rolloutsAt(pools []*v1.NodePool, now time.Time) *Rollouts {
	rollouts := RolloutsOf(pools)
	if rollouts == nil {
		return nil
	}
	for _, change := range d.PoolChanges {
		if changed := rollouts.pools[change.Name]; changed != nil {
			changed.changed = now
		}
	}
	return rollouts
}
