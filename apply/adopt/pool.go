package adopt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// pools are those that are proposed, in no order.
func (c *choice) pools(s *survey, o Options) []Pool {
	var pools []Pool
	for _, role := range slices.Sorted(maps.Keys(c.roles)) {
		pool := Pool{NodePool: newPool(role, c.roles[role].features, c.roles[role].parent)}
		for _, g := range c.roles[role].groups {
			pool.Nodes = append(pool.Nodes, g.names()...)
		}
		slices.Sort(pool.Nodes)
		pools = append(pools, pool)
	}
	if o.NoNewRoles {
		return pools
	}
	namer, names := newNamer(c.owned, s), newNodeNames(c.groups)
	for i, own := range c.owned {
		name, parent := namer.name(i), parentOf([]*group{own.group}, c.roles)
		if own.key != "" {
			pool := newPool(name, own.features, parent)
			pool.Spec.Selector = selectorOf(own.key, c.distinct.values(own.key, c.distinct.groups[own.group]))
			pools = append(pools, Pool{NodePool: pool, Nodes: own.names(), NewRole: true})
			continue
		}
		for part, list := range names.lists(own.group, o.Patterns) {
			nameOfPart := name
			if part > 0 {
				nameOfPart = namer.unique(name)
			}
			pool := newPool(nameOfPart, own.features, parent)
			pool.Spec.NodeNames = list.patterns
			pools = append(pools, Pool{
				NodePool: pool, Nodes: list.names, NewRole: true,
				Wider: wider(list.patterns, names.wide[own.group]), SelectableBy: c.selectableBy(own.group),
			})
		}
	}
	return pools
}

// newPool is a pool that adopts features, within the pool of a role, which may be nil.
func newPool(name string, features []feature, parent *rolePool) *v1.NodePool {
	pool := &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: v1.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodePoolSpec{ConflictPolicy: v1.Adopt},
	}
	if parent != nil {
		pool.Spec.Parent = parent.role
	}
	for _, f := range without(features, parent) {
		put(&pool.Spec, f)
	}
	return pool
}

// mostWider is how many patterns are worth a suggestion.
const mostWider = 8

// wider is what is worth a suggestion of patterns that match more than those of a
// pool; nil for nothing.
func wider(have, patterns []string) []string {
	more := slices.ContainsFunc(patterns, func(pattern string) bool { return strings.HasSuffix(pattern, "*") })
	if !more || len(patterns) > mostWider || slices.Equal(have, patterns) {
		return nil
	}
	return patterns
}

// selectableBy returns labels of provisioners that distinguish the nodes of a
// group from all others.
func (c *choice) selectableBy(g *group) []string {
	return slices.DeleteFunc(slices.Clone(poolLabels), func(key string) bool {
		return c.distinct.values(key, c.distinct.groups[g]) == nil
	})
}

// mostSplitting is how many keys are named that split nodes into pools.
const mostSplitting = 3

// splitting are the keys of which the pools of groups have most values, the worst
// first.
func (c *choice) splitting() []string {
	values := map[string]map[string]bool{}
	for _, own := range c.owned {
		for _, f := range own.features {
			if values[f.name()] == nil {
				values[f.name()] = map[string]bool{}
			}
			values[f.name()][f.value] = true
		}
	}
	maps.DeleteFunc(values, func(_ string, of map[string]bool) bool { return len(of) == 1 })
	keys := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(values[b]), len(values[a])), cmp.Compare(a, b))
	})
	return keys[:min(len(keys), mostSplitting)]
}
