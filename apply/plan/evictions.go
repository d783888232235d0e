package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// evictions are the NoExecute taints that a revision brings to nodes.
type evictions struct {
	// concerned are the pools that the revision concerns, and that evict; said are all as they
	// were, and says all as they will be.
	concerned    map[string]*v1.NodePool
	said, says   namedPools
	before, then *render.Expansion
}

// come are the pools that bring a NoExecute taint to a node, which was in some pools and will be
// in others. Nothing would have put the taint there before; nor has the pool said the same of
// the node, unless its value comes only now. A new taint counts also where another pool has its
// way: this may change with any other pool, but for one within it that has done so already.
// What a frozen pool keeps off the node would not have come.
func (e evictions) come(node *NodeState, record Record, seen map[string]string, was, will []string) (pools []string) {
	if !slices.ContainsFunc(will, func(pool string) bool { return e.concerned[pool] != nil }) {
		return nil
	}
	before, then := e.before.Node(node.Name, seen), e.then.Node(node.Name, seen)
	for _, name := range will {
		pool := e.concerned[name]
		if pool == nil || e.then.Holds(name) {
			continue
		}
		wasMember := slices.Contains(was, name) && !e.before.Holds(name)
		if lacksEvicting(node, pool, func(id render.TaintID, taint v1.Taint) bool {
			said := wasMember && slices.Contains(e.said.get(name).Spec.Taints, taint)
			switch had, wanted := before.Taints[id]; {
			case wanted && had.Value == taint.Value && !e.before.Holds(record.Taints[id].Pool):
				return false
			case said && then.Taints[id].Value != taint.Value:
				return false
			}
			return !overridesWithin(node, e.says, then, id, name)
		}) {
			pools = append(pools, name)
		}
	}
	return pools
}

// overridesWithin reports whether a node has a taint of a pool that is within another one, in
// place of the taint of that one.
func overridesWithin(node *NodeState, pools namedPools, desired render.Desired, id render.TaintID, outer string) bool {
	want := desired.Taints[id]
	value, has := taintValue(node, id)
	return has && value == want.Value && pools.isNestedInAny(want.Pool, func(around string) bool { return around == outer })
}

// evicts reports whether a pool puts a NoExecute taint on nodes of which a mistake can
// choose too many: by a selector or by patterns. Nodes that carry the role label of a
// pool have been labelled for that pool, one by one.
func evicts(pool *v1.NodePool) bool {
	return (pool.Spec.Selector != nil || len(pool.Spec.NodeNames) > 0) &&
		slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute })
}

// lacksEvicting reports whether a pool has a NoExecute taint that a node has not got, and that
// counts.
func lacksEvicting(node *NodeState, pool *v1.NodePool, counts func(render.TaintID, v1.Taint) bool) bool {
	return slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool {
		id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
		value, has := taintValue(node, id)
		return taint.Effect == corev1.TaintEffectNoExecute && !(has && value == taint.Value) && counts(id, taint)
	})
}
