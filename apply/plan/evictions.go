package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// evictions are the NoExecute taints that a revision brings to nodes.
type evictions struct {
	// evicting are the pools that evict, as they will be, and concerned those of them that the
	// revision concerns; said are all as they were, and says all as they will be.
	evicting, concerned map[string]*v1.NodePool
	// repaired are the pools that the revision puts back as they were.
	repaired     map[string]bool
	said, says   namedPools
	before, then *render.Expansion
}

// come are the pools that bring a NoExecute taint to a node, which was in some pools and will be
// in others.
func (e evictions) come(node *NodeState, record Record, seen map[string]string, was, will []string) []string {
	if !slices.ContainsFunc(will, func(pool string) bool { return e.evicting[pool] != nil }) {
		return nil
	}
	before, then := e.before.Node(node.Name, seen), e.then.Node(node.Name, seen)
	pools := e.wanted(node, record, before, then, was, will)
	for id, want := range then.Taints {
		if e.comes(node, record, before, id, want) && !slices.Contains(pools, want.Pool) {
			pools = append(pools, want.Pool)
		}
	}
	slices.Sort(pools)
	return pools
}

// wanted are the pools that the revision concerns, and that want a NoExecute taint on a node.
// Nothing would have put the taint there before; nor has the pool said the same of the node,
// unless its value comes only now. A new taint counts also where another pool has the key: this
// may change with any other pool. What a frozen pool keeps off the node would not have come.
func (e evictions) wanted(node *NodeState, record Record, before, then render.Desired, was, will []string) (pools []string) {
	for _, name := range will {
		pool := e.concerned[name]
		if pool == nil || e.then.Holds(name) {
			continue
		}
		wasMember := slices.Contains(was, name) && !e.before.Holds(name)
		if lacksEvicting(node, pool, func(id render.TaintID, taint v1.Taint) bool {
			said := wasMember && slices.Contains(e.said.get(name).Spec.Taints, taint)
			had, wanted := before.Taints[id]
			came := wanted && had.Value == taint.Value && !e.before.Holds(record.Taints[id].Pool)
			return !came && !(said && then.Taints[id].Value != taint.Value)
		}) {
			pools = append(pools, name)
		}
	}
	return pools
}

// comes reports whether a pool gets a NoExecute taint on a node by the revision, whichever pool
// that changes or deletes: one that gives way, for one.
func (e evictions) comes(node *NodeState, record Record, before render.Desired, id render.TaintID, want render.Want) bool {
	holder := record.Taints[id].Pool
	switch had, wanted := before.Taints[id]; {
	case !lacksTaint(node, id, want.Value) || e.then.Holds(holder):
		return false
	case wanted && had.Value == want.Value && !e.before.Holds(holder):
		return false // it would have come anyway
	default:
		return !e.isRepaired(want.Pool) && !e.isRepaired(holder)
	}
}

// isRepaired reports whether the revision puts a pool back as it was, or one around it.
func (e evictions) isRepaired(pool string) bool {
	return e.repaired[pool] || e.says.isNestedInAny(pool, func(outer string) bool { return e.repaired[outer] })
}

// evicts reports whether a pool puts a NoExecute taint on nodes.
func evicts(pool *v1.NodePool) bool {
	return slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute })
}

// lacksEvicting reports whether a pool has a NoExecute taint that a node has not got, and that
// counts.
func lacksEvicting(node *NodeState, pool *v1.NodePool, counts func(render.TaintID, v1.Taint) bool) bool {
	return slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool {
		id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
		return lacksTaint(node, id, taint.Value) && counts(id, taint)
	})
}

// lacksTaint reports whether a taint is a NoExecute one that a node has not got.
func lacksTaint(node *NodeState, id render.TaintID, want string) bool {
	value, has := taintValue(node, id)
	return id.Effect == corev1.TaintEffectNoExecute && !(has && value == want)
}
