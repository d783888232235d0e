package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// evictionCause is why a node may get a NoExecute taint: by changes of pools, or by deletions.
type evictionCause struct {
	// by are the pools that want the taint, by the one that has changed.
	by map[string][]string
	// departing are those that want it in place of one that is being deleted.
	departing []string
}

// countEvictions counts a node once for each change by which it may get a NoExecute taint, and
// once for deletions.
func (c *releaseCount) countEvictions(node *NodeState, record Record, members []string, seen map[string]string) {
	yielders := c.yieldersOf(node, record, members)
	if len(yielders) == 0 && !slices.ContainsFunc(members, c.mayEvict) {
		return
	}
	desired, cause := c.free.Node(node.Name, seen), evictionCause{by: map[string][]string{}}
	c.addWanted(&cause, node, record, members, desired)
	c.addYielded(&cause, node, yielders, desired)
	for change, pools := range cause.by {
		if c.evicted[change] == nil {
			c.evicted[change] = &Loss{Kind: LossEvict}
		}
		c.evicted[change].addOf(sortedOnce(pools), node.Name)
	}
	c.yielded.addOf(sortedOnce(cause.departing), node.Name)
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// mayEvict reports whether a pool evicts, and whom is decided anew.
func (c *releaseCount) mayEvict(pool string) bool {
	return len(c.pending[pool]) > 0 && evicts(c.pools.get(pool)) && !c.free.Holds(pool)
}

// addWanted adds the pools that want a NoExecute taint on a node by a change. An inner pool that
// carries the node already, and has not changed itself, was accepted there.
func (c *releaseCount) addWanted(cause *evictionCause, node *NodeState, record Record, members []string, desired render.Desired) {
	carried := record.Pools()
	for _, name := range members {
		if !c.mayEvict(name) || carried[name] && c.pending[name][0].of != name {
			continue
		}
		if lacksEvicting(node, c.pools.get(name), func(id render.TaintID, _ v1.Taint) bool {
			return len(c.changed[desired.Taints[id].Pool]) > 0 || !overridesWithin(node, c.pools, desired, id, name)
		}) {
			for _, change := range c.pending[name] {
				cause.by[change.of] = append(cause.by[change.of], name)
			}
			c.evictors[name] = true
		}
	}
}

// yielder is a pool by which a node has a NoExecute taint, and may get another one, as the pool
// changes or is being deleted.
type yielder struct {
	pool *v1.NodePool
	id   render.TaintID
	// holder is the pool that the taint is from, by the record.
	holder *v1.NodePool
}

// yieldersOf are those that hold taints of a node, and those that say the same of it: such a one
// may be a third pool, which keeps the one that holds the taint from overriding an outer one.
func (c *releaseCount) yieldersOf(node *NodeState, record Record, members []string) (yielders []yielder) {
	for id, entry := range record.Taints {
		if holder := c.pools.get(entry.Pool); id.Effect == corev1.TaintEffectNoExecute && holder != nil && c.mayYield(holder) {
			yielders = append(yielders, yielder{holder, id, holder})
		}
	}
	for _, name := range members {
		if !c.mayEvict(name) {
			continue
		}
		pool := c.pools.get(name)
		for _, taint := range pool.Spec.Taints {
			id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
			holder := c.pools.get(record.Taints[id].Pool)
			if value, has := taintValue(node, id); has && value == taint.Value && holder != nil && holder != pool {
				yielders = append(yielders, yielder{pool, id, holder})
			}
		}
	}
	return yielders
}

func (c *releaseCount) mayYield(pool *v1.NodePool) bool {
	return !c.free.Holds(pool.Name) && (len(c.pending[pool.Name]) > 0 || departsUnapproved(pool))
}

// addYielded adds the pools whose NoExecute taint comes to a node in place of that of one within
// them, which may not be within them any more. They need not have changed: where the inner pool had
// its way, they were not counted, see [overridesWithin].
func (c *releaseCount) addYielded(cause *evictionCause, node *NodeState, yielders []yielder, desired render.Desired) {
	for _, yields := range yielders {
		name := yields.pool.Name
		want, wanted := desired.Taints[yields.id]
		switch {
		case !wanted || !c.wasWithin(yields.holder, want.Pool) || !lacksTaint(node, yields.id, want.Value):
		case departsUnapproved(yields.pool):
			cause.departing = append(cause.departing, want.Pool)
			c.yielding[name] = true
		default:
			for _, change := range c.pending[name] {
				cause.by[change.of] = append(cause.by[change.of], want.Pool)
			}
			c.evictors[name] = true
		}
	}
}

// wasWithin reports whether a pool is within another one, or was when nodes followed it last.
func (c *releaseCount) wasWithin(inner *v1.NodePool, outer string) bool {
	return c.pools.isNestedInAny(inner.Name, func(name string) bool { return name == outer }) ||
		slices.ContainsFunc(inner.Status.ObservedOuterPools, func(observed v1.ObservedOuterPool) bool { return observed.Name == outer })
}

// departsUnapproved reports whether a pool is being deleted, and nobody has approved that.
func departsUnapproved(pool *v1.NodePool) bool {
	return Releasing(pool) && pool.Annotations[v1.ApproveReleaseAnnotation] != v1.DeletionApproval
}
