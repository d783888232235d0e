package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// evictions are the NoExecute taints that a revision brings to nodes.
type evictions struct {
	// pools are those that the revision concerns, and that evict; said are all as they were.
	pools, said map[string]*v1.NodePool
}

func newEvictions(live, after []*v1.NodePool, concerned map[string]bool) evictions {
	e := evictions{pools: map[string]*v1.NodePool{}, said: map[string]*v1.NodePool{}}
	for _, pool := range after {
		if concerned[pool.Name] && evicts(pool) {
			e.pools[pool.Name] = pool
		}
	}
	for _, pool := range live {
		e.said[pool.Name] = pool
	}
	return e
}

// mayCome reports whether a node that will be in some pools may get a NoExecute taint.
func (e evictions) mayCome(will []string) bool {
	return slices.ContainsFunc(will, func(pool string) bool { return e.pools[pool] != nil })
}

// come are the pools that bring a NoExecute taint to a node, which was in some pools and had
// desired of it what they want, and will be in others. Nothing would have put the taint there
// before; nor has the pool said the same of the node, unless it has its way only now. A new one
// that does not have its way counts as well: this may change with any other pool.
func (e evictions) come(node *NodeState, was, will []string, before, then render.Desired) (pools []string) {
	for _, name := range will {
		pool := e.pools[name]
		if pool != nil && lacksEvicting(node, pool, func(id render.TaintID, taint v1.Taint) bool {
			if want, wanted := before.Taints[id]; wanted && want.Value == taint.Value {
				return false
			}
			said := slices.Contains(was, name) && slices.Contains(e.said[name].Spec.Taints, taint)
			return !said || then.Taints[id].Pool == name
		}) {
			pools = append(pools, name)
		}
	}
	return pools
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
