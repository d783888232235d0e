package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/render"
)

// Refusal is that the API server does not take what a pool changes on a node.
type Refusal struct {
	// Says is what it says of that.
	Says string
	// Leaving reports that the node was no member of the pool: it is what the pool releases
	// that is refused. Nothing else is a reason to keep that.
	Leaving bool
}

// refusals are the obstacles of those pools that change something with a plan, which the API
// server refuses. A pool moves whole: what else it changes there waits as well.
func refusals(p *NodePlan, refused map[string]Refusal) map[string]obstacle {
	if len(refused) == 0 {
		return nil
	}
	obstacles := map[string]obstacle{}
	for _, pool := range p.changing() {
		if refusal, is := refused[pool]; is {
			obstacles[pool] = obstacle{text: refusal.Says, refused: true, leaving: refusal.Leaving}
		}
	}
	return obstacles
}

// standingRefusals are those that are still about what the pools do with a node, by a plan for
// it.
func standingRefusals(p *NodePlan, refused map[string]Refusal) map[string]Refusal {
	standing := maps.Clone(refused)
	maps.DeleteFunc(standing, func(pool string, refusal Refusal) bool {
		return refusal.Leaving == slices.Contains(p.Pools, pool)
	})
	return standing
}

// changing are the pools for which a plan changes something, or would if others waited that
// agree with them, sorted.
func (p *NodePlan) changing() []string {
	var pools []string
	for _, change := range p.Changes {
		pools = append(append(pools, change.Pool), p.wantOf(change).Agreeing...)
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// wantOf is what is wanted of a key that changes.
func (p *NodePlan) wantOf(change KeyChange) render.Want {
	id := render.TaintID{}
	switch {
	case change.Field == Label:
		return p.desired.Labels[change.Key]
	case change.Field == Annotation:
		return p.desired.Annotations[change.Key]
	case id.UnmarshalText([]byte(change.Key)) == nil:
		return p.desired.Taints[id]
	}
	return render.Want{} // never
}

// Changing are the pools for which a plan changes something, in the order in which they are
// written where the API server refuses some: the strongest first, and each after those around
// it, without which nothing of it is written.
func (r *Rollouts) Changing(p *NodePlan) []string {
	names, ordered := p.changing(), []string(nil)
	add := func(name string) {
		if slices.Contains(names, name) && !slices.Contains(ordered, name) {
			ordered = append(ordered, name)
		}
	}
	for _, name := range slices.SortedFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(r.of(a).rank, r.of(b).rank) }) {
		for _, around := range slices.Backward(r.of(name).around) {
			add(around)
		}
		add(name)
	}
	return ordered
}
