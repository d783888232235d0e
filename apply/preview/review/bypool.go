package review

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
)

// PoolChange is all that a review has of one pool.
type PoolChange struct {
	Name string
	// Pools and Classes are the pool and its RuntimeClass, where they change. There is one of
	// each, unless somebody has given a RuntimeClass the name of a pool.
	Pools, Classes []*Object
	// Members are nil where no number of nodes is known.
	Members *Members
	// Nodes have the changes that are for this pool.
	Nodes []Nodes
}

// Moves reports whether nodes enter or leave the pool.
func (c *PoolChange) Moves() bool {
	return c.Members != nil && len(c.Members.Entering)+len(c.Members.Leaving) > 0
}

// ByPool returns what changes by pool: first the pools that change, in the order of the
// review, then those of which only nodes or a RuntimeClass change, by name.
func (r *Review) ByPool() []*PoolChange {
	var all []*PoolChange
	byName := map[string]*PoolChange{}
	of := func(name string) *PoolChange {
		if byName[name] == nil {
			byName[name] = &PoolChange{Name: name}
			all = append(all, byName[name])
		}
		return byName[name]
	}
	for i := range r.Pools {
		c := of(r.Pools[i].Name)
		c.Pools = append(c.Pools, &r.Pools[i])
	}
	changing := len(all)
	for i := range r.RuntimeClasses {
		pool, _ := PoolOf(r.RuntimeClasses[i].Name)
		c := of(pool)
		c.Classes = append(c.Classes, &r.RuntimeClasses[i])
	}
	for _, nodes := range r.Nodes {
		changes := map[string][]plan.KeyChange{}
		for _, change := range nodes.Changes {
			changes[change.Pool] = append(changes[change.Pool], change)
		}
		for _, name := range slices.Sorted(maps.Keys(changes)) {
			c := of(name)
			c.Nodes = append(c.Nodes, Nodes{Names: nodes.Names, Changes: changes[name]})
		}
	}
	for i := range r.Members {
		if m := &r.Members[i]; byName[m.Pool] != nil || len(m.Entering)+len(m.Leaving) > 0 {
			of(m.Pool).Members = m
		}
	}
	slices.SortFunc(all[changing:], func(a, b *PoolChange) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
