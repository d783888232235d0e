package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/render"
)

// Removals is the part of a plan that releases keys, and nothing else: it makes a node
// smaller. Where the API server refuses the whole plan, as the node would be too large, it
// is what can be written: a kubelet that fills its node up must not keep by that what it
// loses. A label that gets another value is released as well, as that of a pool which the
// node has left must not stay; a taint stays, which keeps pods off, and so it does where another
// one of its pool comes in its place. It is nil where nothing is released, or nothing else is in
// the plan.
func (p *NodePlan) Removals(node *NodeState) *NodePlan {
	bringsTaint := map[string]bool{}
	for id, entry := range p.Record.Taints {
		if before, had := p.live.Taints[id]; !had || before.Pool != entry.Pool || before.Value != entry.Value {
			bringsTaint[entry.Pool] = true
		}
	}
	less := p.releasing(node).part(func(id repairKey, before, after *Entry) bool {
		return before != nil && after == nil && !(id.field == Taint && bringsTaint[before.Pool])
	})
	less.Record.Change, less.rewritten = p.live.Change, false
	if less.Record.Equal(p.live) || len(less.Changes) == len(p.Changes) && less.Record.Equal(p.Record) {
		return nil
	}
	return less
}

// releasing is the plan with the release of those labels that get another value.
func (p *NodePlan) releasing(node *NodeState) *NodePlan {
	desired, moved := p.desired, map[string]bool{}
	desired.Labels = maps.Clone(desired.Labels)
	for key, after := range p.labels.record {
		if before, ours := p.recorded.Labels[key]; ours && before.Value != after.Value {
			delete(desired.Labels, key)
			moved[key] = true
		}
	}
	if len(moved) == 0 {
		return p
	}
	released, less := weighDesired(node, p.ownership, desired, p.pools), *p
	less.labels.record, less.labels.changed = maps.Clone(p.labels.record), maps.Clone(p.labels.changed)
	for key := range moved {
		if _, held := released.labels.record[key]; held { // by a pool that gives it up to a stronger one alone
			delete(moved, key)
			continue
		}
		delete(less.labels.record, key)
		delete(less.labels.changed, key)
		if value, changes := released.labels.changed[key]; changes {
			less.labels.changed[key] = value
		}
	}
	of := func(change KeyChange) bool { return change.Field == Label && moved[change.Key] }
	less.Changes = slices.Concat(
		slices.DeleteFunc(slices.Clone(p.Changes), of),
		slices.DeleteFunc(slices.Clone(released.Changes), func(change KeyChange) bool { return !of(change) }),
	)
	slices.SortFunc(less.Changes, compareKeyChanges)
	return &less
}

// Walls is the part of a plan in which no kubelet has a say: the taints, and the labels
// that kubelets may not set. A kubelet that writes its node without a pause must not keep
// these, nor keep them off, so that they are written as [NodePlan.TestedPatch]. It is the
// plan itself where that is all of it, and nil where it has nothing of it.
func (p *NodePlan) Walls() *NodePlan {
	walls := p.part(func(id repairKey, _, _ *Entry) bool {
		return id.field == Taint || id.field == Label && !render.KubeletMaySet(id.key)
	})
	if walls.NoOp() {
		return nil
	}
	if walls.Record.Equal(p.Record) && len(walls.Changes) == len(p.Changes) {
		return p
	}
	return walls
}

// part is what a plan does to some keys. All others stay as they are on the node, and the
// record says of them what it says now. The keys are chosen by what the record says of them
// before and after; nil for nothing.
func (p *NodePlan) part(chosen func(id repairKey, before, after *Entry) bool) *NodePlan {
	less, left := *p, map[repairKey]bool{}
	less.labels = partOf(p.labels, Label, p.live.Labels, chosen, left)
	less.annotations = partOf(p.annotations, Annotation, p.live.Annotations, chosen, left)
	less.taints = partOf(p.taints, Taint, p.live.Taints, chosen, left)
	less.Record = Record{
		Labels: less.labels.record, Annotations: less.annotations.record, Taints: less.taints.record, Change: p.Record.Change,
	}
	less.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(change KeyChange) bool {
		return left[repairKey{change.Field, change.Key}]
	})
	return &less
}

// partOf is what becomes of the chosen keys of a field. It adds the others to left.
func partOf[K comparable](o fieldPlan[K], field Field, recorded map[K]Entry, chosen func(id repairKey, before, after *Entry) bool, left map[repairKey]bool) fieldPlan[K] {
	less := fieldPlan[K]{record: map[K]Entry{}, copied: true, changed: map[K]*string{}, withheld: maps.Clone(o.withheld)}
	if less.withheld == nil {
		less.withheld = map[K]bool{}
	}
	keys := map[K]bool{}
	for _, record := range []map[K]Entry{recorded, o.record} {
		for key := range record {
			keys[key] = true
		}
	}
	for key := range keys {
		id := repairKey{field, fmt.Sprint(key)}
		before, after := recordedEntry(recorded, key), recordedEntry(o.record, key)
		value, changes := o.changed[key]
		if !chosen(id, before, after) {
			left[id] = true
			less.withheld[key] = less.withheld[key] || changes
			after, changes = before, false
		}
		if after != nil {
			less.record[key] = *after
		}
		if changes {
			less.changed[key] = value
		}
	}
	return less
}

// recordedEntry is what a record says of a key; nil for nothing.
func recordedEntry[K comparable](record map[K]Entry, key K) *Entry {
	if entry, ours := record[key]; ours {
		return &entry
	}
	return nil
}
