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
// loses. It is nil where nothing is released, or nothing else is in the plan.
func (p *NodePlan) Removals() *NodePlan {
	less := p.part(func(_ repairKey, before, after *Entry) bool { return before != nil && after == nil })
	less.Record.Change, less.rewritten = p.recorded.Change, false
	if less.Record.Equal(p.recorded) || len(less.Changes) == len(p.Changes) && less.Record.Equal(p.Record) {
		return nil
	}
	return less
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
	less.labels = partOf(p.labels, Label, p.recorded.Labels, chosen, left)
	less.annotations = partOf(p.annotations, Annotation, p.recorded.Annotations, chosen, left)
	less.taints = partOf(p.taints, Taint, p.recorded.Taints, chosen, left)
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
