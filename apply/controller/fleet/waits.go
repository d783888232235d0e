package fleet

import (
	"maps"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
)

// countedStep is what some nodes of a pool keep while they wait.
type countedStep struct {
	step  *plan.ClassStep
	nodes int
}

// addWait adds what waits on a node to the counts of its pools, or takes it out again. That
// something waits at all, or for something else, is news; on how many nodes is a number.
func (c *counts) addWait(o *Observation, sign int) {
	for _, wait := range o.Wait {
		counts := c.pool(wait.Pool)
		before := counts.Waits[*wait]
		if counts.Waits[*wait] += sign; counts.Waits[*wait] == 0 {
			delete(counts.Waits, *wait)
		}
		if before == 0 || before+sign == 0 {
			c.waitNews[wait.Pool] = true
		}
	}
	if o.Step == nil {
		return
	}
	id := o.Step.String()
	for _, pool := range o.Step.Pools {
		counts := c.pool(pool)
		counted := countedStep{o.Step, counts.steps[id].nodes + sign}
		if counted.nodes == 0 {
			delete(counts.steps, id)
		} else {
			counts.steps[id] = counted
		}
		if counted.nodes == 0 || counted.nodes == sign {
			c.waitNews[pool] = true
		}
	}
}

// addEvicting adds what is left to evict on a node to the counts of the pools that it is
// drained for, or takes it out again.
func (c *counts) addEvicting(node string, o *Observation, sign int) {
	for _, pool := range o.Change.Drained() {
		counts := c.pool(pool)
		if sign > 0 {
			counts.Evicting[node] = o.Evicting
		} else {
			delete(counts.Evicting, node)
		}
		if o.Overdue {
			counts.Overdue += sign
			c.waitNews[pool] = true
		}
	}
}

// Steps are what nodes of a pool keep while they wait, as far as RuntimeClasses have to do
// with it; in an order that does not change. Settled is that of [Fleet.Counts].
func (c *counts) Steps(pool string, since uint64) (steps []*plan.ClassStep, settled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	settled = c.settled(since)
	known, found := c.pools[pool]
	if !found {
		return nil, settled
	}
	for _, id := range slices.Sorted(maps.Keys(known.steps)) {
		steps = append(steps, known.steps[id].step)
	}
	return steps, settled
}
