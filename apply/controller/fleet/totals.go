package fleet

import (
	"time"

	"github.com/nodepools/nodepools/apply/plan"
)

// Totals are what nodes come to, in numbers alone.
type Totals struct {
	// Unreadable is the number of nodes whose record cannot be read.
	Unreadable int
	// Pools has those of which one of the numbers is not zero, by name.
	Pools map[string]PoolTotals
	// Open has the pools with windows, by name, and whether their nodes may follow changes of
	// them.
	Open map[string]bool
	// Turns has the pools in which nodes take turns, by name, while something waits in one. It
	// must not change.
	Turns map[string]plan.RolloutNodes
}

// PoolTotals are what the nodes of a pool come to.
type PoolTotals struct {
	// Failing is the number of nodes on which something is wrong; Conflicts of keys that
	// the pool does not get, on all nodes together; Waiting of nodes on which changes of
	// the pool wait; Draining of those that are drained for it.
	Failing, Conflicts, Waiting, Draining int
}

// Totals returns what nodes come to, and which rollouts are open at a time. Known is false
// before a pass over every node has ended since the start. It costs no more than the
// number of pools, and waits for no snapshot that is being made.
func (f *Fleet) Totals(now time.Time) (totals Totals, known bool) {
	totals = f.counts.totals()
	totals.Turns = f.turns.counts()
	closed := f.rollouts.Load().Closed(now)
	totals.Open = make(map[string]bool, len(closed))
	for pool, is := range closed {
		totals.Open[pool] = !is
	}
	return totals, f.startup.complete.Load()
}

func (c *counts) totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	totals := Totals{Unreadable: c.unreadable, Pools: map[string]PoolTotals{}}
	for name, pool := range c.pools {
		if of := (PoolTotals{Failing: len(pool.Problems), Conflicts: pool.Conflicts, Waiting: pool.Waiting(), Draining: len(pool.Evicting)}); of != (PoolTotals{}) {
			totals.Pools[name] = of
		}
	}
	return totals
}
