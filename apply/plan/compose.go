package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
)

// recreating are the names of the pools that are recreated and that go now.
func (d *Difference) recreating() map[string]bool {
	recreating := map[string]bool{}
	for _, change := range d.PoolChanges {
		if change.Action == Delete && slices.Contains(d.recreated, change.Name) {
			recreating[change.Name] = true
		}
	}
	return recreating
}

// compose makes one difference of two, one after the other.
func (d *Difference) compose(next *Difference, recreating map[string]bool) *Difference {
	both := &Difference{
		Pools: d.Pools, Problems: next.Problems, Held: mergeHeld(d.Held, next.Held),
		accepted: d.accepted, settled: next.settled, numbers: next.numbers, carriers: next.carriers, recreated: slices.Concat(d.recreated, next.recreated),
	}
	for _, change := range next.PoolChanges {
		if recreating[change.Name] && change.Action == Create {
			both.Problems = append(both.Problems, Problem{Kind: PoolRecreated, Pool: change.Name,
				Err: fmt.Errorf("pool %q is being deleted: it releases its nodes and goes, and then it is made again", change.Name)})
		}
	}
	both.PoolChanges = merge(d.PoolChanges, next.PoolChanges, func(c PoolChange) string { return c.Name }, func(first, second PoolChange) PoolChange {
		return PoolChange{Action: first.Action.compose(second.Action), Name: first.Name, Live: first.Live, Want: second.Want, after: second.After()}
	})
	both.PoolChanges = slices.DeleteFunc(both.PoolChanges, func(c PoolChange) bool { return c.Action == None })
	slices.SortStableFunc(both.PoolChanges, comparePoolChanges)
	both.RuntimeClasses = merge(d.RuntimeClasses, next.RuntimeClasses, RuntimeClassChange.Name, func(first, second RuntimeClassChange) RuntimeClassChange {
		return RuntimeClassChange{Action: first.Action.compose(second.Action), Live: first.Live, Want: second.After()}
	})
	both.RuntimeClasses = slices.DeleteFunc(both.RuntimeClasses, func(c RuntimeClassChange) bool { return c.Action == None })
	slices.SortFunc(both.RuntimeClasses, func(a, b RuntimeClassChange) int { return strings.Compare(a.Name(), b.Name()) })
	quiet := map[string]bool{}
	for _, node := range d.Nodes {
		quiet[node.Name] = true
	}
	for _, node := range next.Nodes {
		delete(quiet, node.Name)
	}
	both.Nodes = merge(d.Nodes, next.Nodes, func(n NodeDifference) string { return n.Name }, func(first, second NodeDifference) NodeDifference {
		return NodeDifference{first.Name, first.NodePlan.compose(second.NodePlan)}
	})
	for i := range both.Nodes {
		if node := &both.Nodes[i]; quiet[node.Name] {
			// What was in conflict at first is not any more, and it has come to rest.
			calm := *node.NodePlan
			calm.Conflicts, calm.unsettled = nil, false
			node.NodePlan = &calm
		}
	}
	both.Nodes = slices.DeleteFunc(both.Nodes, func(n NodeDifference) bool { return n.NoOp() && len(n.Conflicts) == 0 })
	slices.SortFunc(both.Nodes, func(a, b NodeDifference) int { return cmp.Compare(a.Name, b.Name) })
	return both
}

// mergeHeld are those that are held before or after.
func mergeHeld(first, next []*ReleaseBlock) []*ReleaseBlock {
	held := merge(first, next, func(b *ReleaseBlock) string { return b.Pool }, func(before, _ *ReleaseBlock) *ReleaseBlock { return before })
	slices.SortFunc(held, func(a, b *ReleaseBlock) int { return cmp.Compare(a.Pool, b.Pool) })
	return held
}

// compose makes one action of two on the same object, one after the other.
func (a Action) compose(next Action) Action {
	switch {
	case a == Delete && next == Create:
		return Replace
	case a == Create && next == Delete:
		return None
	case a == Create || a == Replace:
		return a
	}
	return next
}

// merge puts two lists together; what is in both becomes one.
func merge[T any](first, second []T, name func(T) string, one func(T, T) T) []T {
	merged, at := slices.Clone(first), map[string]int{}
	for i, item := range merged {
		at[name(item)] = i
	}
	for _, item := range second {
		if i, found := at[name(item)]; found {
			merged[i] = one(merged[i], item)
		} else {
			merged = append(merged, item)
		}
	}
	return merged
}

// compose makes one plan of two for a node, one after the other. It is not to be written
// in one request: in between, something else has to happen.
func (p *NodePlan) compose(next *NodePlan) *NodePlan {
	both := &NodePlan{
		Pools: next.Pools, Conflicts: next.Conflicts, Record: next.Record, ownership: p.ownership, desired: next.desired, unsettled: next.unsettled,
		labels: p.labels.compose(next.labels), annotations: p.annotations.compose(next.annotations), taints: p.taints.compose(next.taints),
	}
	both.rewritten = !p.NoOp() && !both.Record.Change.Equal(p.live.Change)
	both.Changes = merge(p.Changes, next.Changes, func(c KeyChange) string { return string(c.Field) + " " + c.Key }, func(first, second KeyChange) KeyChange {
		second.Before = first.Before
		return second
	})
	both.Changes = slices.DeleteFunc(both.Changes, func(c KeyChange) bool { return ptr.Equal(c.Before, c.After) })
	slices.SortFunc(both.Changes, compareKeyChanges)
	return both
}

// then are the keys that change in one of two plans. One that gets back the value
// that it had is among them.
func (o fieldPlan[K]) compose(next fieldPlan[K]) fieldPlan[K] {
	changed := make(map[K]*string, len(o.changed)+len(next.changed))
	for key, value := range o.changed {
		changed[key] = value
	}
	for key, value := range next.changed {
		changed[key] = value
	}
	return fieldPlan[K]{record: next.record, copied: next.copied, changed: changed}
}
