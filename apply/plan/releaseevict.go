package plan

import (
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// countEvictions counts a node once for each change by which it may get a NoExecute taint.
func (c *releaseCount) countEvictions(node *NodeState, record Record, members []string) {
	by := map[string][]string{}
	carried := record.Pools()
	for _, name := range members {
		// A pool that carries the node already, and has not changed itself, was accepted there.
		if !c.mayEvict(name) || carried[name] && c.pending[name][0].of != name {
			continue
		}
		if lacksEvicting(node, c.pools.get(name), func(render.TaintID, v1.Taint) bool { return true }) {
			for _, change := range c.pending[name] {
				by[change.of] = append(by[change.of], name)
			}
			c.evictors[name] = true
		}
	}
	for change, pools := range by {
		if c.evicted[change] == nil {
			c.evicted[change] = &Loss{Kind: LossEvict}
		}
		c.evicted[change].addOf(sortedOnce(pools), node.Name)
	}
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// mayEvict reports whether a pool evicts, and whom is decided anew.
func (c *releaseCount) mayEvict(pool string) bool {
	return len(c.pending[pool]) > 0 && evicts(c.pools.get(pool)) && !c.free.Holds(pool)
}

// departsUnapproved reports whether a pool is being deleted, and nobody has approved that.
func departsUnapproved(pool *v1.NodePool) bool {
	return Releasing(pool) && pool.Annotations[v1.ApproveReleaseAnnotation] != v1.DeletionApproval
}
