package sources

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// rest is a plan of the last good revision that changes nothing, and what it was made of.
// A poll that finds neither another revision nor another version of an object needs no
// other plan: to make one, the managed fields of every pool are parsed.
type rest struct {
	plan *plan.PoolsPlan
	// versions are the resource versions of the source and of all pools, by UID.
	versions map[types.UID]string
}

// restOf returns the rest at an outcome; nil where the outcome may be another one though no
// version changes: anything waits, is kept, or depends on other sources.
func restOf(src *v1.NodePoolSource, live []*v1.NodePool, state *fetchState, outcome plan.RevisionOutcome) *rest {
	p := outcome.Plan
	if p.Number > 0 || len(p.Changes) > 0 || p.Blocked != nil || len(outcome.Recreated) > 0 || p.OwnedAfter != len(state.pools) {
		return nil
	}
	return &rest{plan: p, versions: versionsOf(src, live)}
}

// holds reports whether a source and the pools are what the plan was made of.
func (r *rest) holds(src *v1.NodePoolSource, live []*v1.NodePool) bool {
	return r != nil && maps.Equal(r.versions, versionsOf(src, live))
}

func versionsOf(src *v1.NodePoolSource, live []*v1.NodePool) map[types.UID]string {
	versions := make(map[types.UID]string, 1+len(live))
	versions[src.UID] = src.ResourceVersion
	for _, pool := range live {
		versions[pool.UID] = pool.ResourceVersion
	}
	return versions
}
