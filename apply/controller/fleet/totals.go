package fleet

// Totals are what nodes come to, in numbers alone.
type Totals struct {
	// Unreadable is the number of nodes whose record cannot be read.
	Unreadable int
	// Pools has those of which one of the numbers is not zero, by name.
	Pools map[string]PoolTotals
}

// PoolTotals are what the nodes of a pool come to.
type PoolTotals struct {
	// Failing is the number of nodes on which something is wrong; Conflicts of keys that
	// the pool does not get, on all nodes together.
	Failing, Conflicts int
}

// Totals returns what nodes come to. Known is false before a pass over every node has
// ended since the start. It costs no more than the number of pools.
func (f *Fleet) Totals() (totals Totals, known bool) {
	return f.counts.totals(), f.startup.complete.Load()
}

func (c *counts) totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	totals := Totals{Unreadable: c.unreadable, Pools: map[string]PoolTotals{}}
	for name, pool := range c.pools {
		if of := (PoolTotals{Failing: len(pool.Problems), Conflicts: pool.Conflicts}); of != (PoolTotals{}) {
			totals.Pools[name] = of
		}
	}
	return totals
}
