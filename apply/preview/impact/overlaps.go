package impact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/render"
)

// overlaps returns the nodes in several pools on which the pods of none of them
// can be scheduled afterwards: each is kept out by a taint of another pool, or
// by a label whose value another pool has won. What others than pools have set
// on a node does not count. A node with an earlier overlap is not listed,
// unless it joins a further pool.
func overlaps(before, after plan.Cluster) []Overlap {
	was, is := newPoolView(before), newPoolView(after)
	stood := make(map[string]*plan.NodeState, len(before.Nodes))
	for _, node := range before.Nodes {
		stood[node.Name] = node
	}
	all := groups[string, Overlap]{}
	for _, node := range after.Nodes {
		pools, reason := is.deadlock(node)
		if reason == nil {
			continue
		}
		if earlier := stood[node.Name]; earlier != nil {
			if had, reason := was.deadlock(earlier); reason != nil && containsAll(had, pools) {
				continue
			}
		}
		key := groupKey(Workload{}, append(slices.Clone(pools), reason.String())...)
		group := all.of(key, Overlap{Pools: pools, Reason: reason})
		group.Nodes = append(group.Nodes, node.Name)
	}
	return all.list(func(group *Overlap) { slices.Sort(group.Nodes) }, func(a, b Overlap) int {
		return cmp.Or(slices.Compare(a.Pools, b.Pools), cmp.Compare(a.Reason.String(), b.Reason.String()))
	})
}

func containsAll(names, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(names, name) })
}

// poolView is what the pools of a cluster want, and to which nodes their
// RuntimeClasses send pods.
type poolView struct {
	expansion *render.Expansion
	live      classes
	// asks caches the scheduling of the pods of a pool.
	asks map[string]inventory.Scheduling
}

func newPoolView(cluster plan.Cluster) *poolView {
	return &poolView{
		expansion: plan.Expand(cluster.Pools, cluster.Numbers),
		live:      plan.ClassesOf(cluster.RuntimeClasses),
		asks:      map[string]inventory.Scheduling{},
	}
}

// deadlock returns the pools of a node and why the pods of none of them can be
// scheduled there; the reason is empty where those of one can.
func (v *poolView) deadlock(node *plan.NodeState) (pools []string, reason Reason) {
	desired, err := plan.Desired(node, v.expansion)
	if err != nil || len(desired.Pools) < 2 {
		// A node with an unreadable record is not changed, and reported as such.
		return nil, nil
	}
	var reasons []Reason
	for _, pool := range desired.Pools {
		why := v.shutOut(pool, node, desired)
		if why == nil {
			return nil, nil
		}
		reasons = append(reasons, why)
	}
	if more := len(reasons) - maxReasons; more > 0 {
		reasons = append(reasons[:maxReasons], Words(fmt.Sprintf("and so on for %d more", more)))
	}
	for i, next := range reasons {
		if i > 0 {
			reason = reason.and(Words(", "))
		}
		reason = reason.and(next)
	}
	return desired.Pools, reason
}

// maxReasons is how many pools of a node are named in the reason.
const maxReasons = 3

// shutOut returns what of another pool keeps the pods of this one off the node;
// empty where nothing does.
func (v *poolView) shutOut(pool string, node *plan.NodeState, desired render.Desired) Reason {
	asks := v.podsOf(pool)
	for _, each := range slices.SortedFunc(slices.Values(node.Taints), render.CompareTaints) {
		want, wanted := desired.Taints[render.TaintID{Key: each.Key, Effect: each.Effect}]
		if !wanted || !keepsOut(&each) || tolerationOf(&each, asks.Tolerations) != nil {
			continue
		}
		if other := wantedBy(want, each.Value, pool); other != "" {
			return Words("pods of "+pool+" do not tolerate ").and(taintReason(&each), Words(" of "+other))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(asks.NodeSelector)) {
		selected := asks.NodeSelector[key]
		have, found := node.Labels[key]
		want, wanted := desired.Labels[key]
		switch {
		case found && have == selected, !wanted:
		case want.Pool != pool && want.Value != selected:
			return Words("pods of "+pool+" select ").and(labelReason(key, selected), Words(", which "+want.Pool+" sets to "), quotedReason(key, want.Value))
		}
	}
	return nil
}

// wantedBy returns a pool other than this one that wants the value.
func wantedBy(want render.Want, value, not string) string {
	switch {
	case want.Value != value:
		return ""
	case want.Pool != not:
		return want.Pool
	case len(want.Agreeing) > 0:
		return want.Agreeing[0]
	}
	return ""
}

// podsOf returns the scheduling of pods that name the RuntimeClass of the pool
// and nothing else. The live RuntimeClass counts: that of a paused pool follows
// its earlier spec.
func (v *poolView) podsOf(pool string) inventory.Scheduling {
	asks, known := v.asks[pool]
	if !known {
		class := v.live[v1.RuntimeClassName(pool)]
		if class == nil {
			class = v.expansion.RuntimeClass(pool)
		}
		if class != nil {
			asks, _ = admit(inventory.Scheduling{}, class)
		}
		v.asks[pool] = asks
	}
	return asks
}
