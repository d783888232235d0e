package plan

import (
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// namedPools are pools by name.
type namedPools map[string]*v1.NodePool

func byName(pools []*v1.NodePool) namedPools {
	named := make(namedPools, len(pools))
	for _, pool := range pools {
		named[pool.Name] = pool
	}
	return named
}

func (p namedPools) get(name string) *v1.NodePool { return p[name] }

// Around are the pools around one, from the inside out, as they say. It ends where one does not
// exist, where it comes round to one again, and where there are more than may be.
func Around(pool *v1.NodePool, named func(string) *v1.NodePool) (around []*v1.NodePool) {
	for at := pool; at.Spec.Parent != "" && len(around) < render.MaxAncestors; {
		at = named(at.Spec.Parent)
		if at == nil || at.Name == pool.Name || slices.Contains(around, at) {
			break
		}
		around = append(around, at)
	}
	return around
}
