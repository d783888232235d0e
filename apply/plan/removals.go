package plan

import (
	"fmt"
	"maps"
	"slices"
)

// Removals is the part of a plan that releases keys, and nothing else: it makes a node
// smaller. Where the API server refuses the whole plan, as the node would be too large, it
// is what can be written: a kubelet that fills its node up must not keep by that what it
// loses. It is nil where nothing is released, or nothing else is in the plan.
func (p *NodePlan) Removals() *NodePlan {
	less, released := p.nothing(), map[repairKey]bool{}
	less.labels = removals(p.labels, Label, p.recorded.Labels, released)
	less.annotations = removals(p.annotations, Annotation, p.recorded.Annotations, released)
	less.taints = removals(p.taints, Taint, p.recorded.Taints, released)
	less.Record = Record{
		Labels: less.labels.record, Annotations: less.annotations.record, Taints: less.taints.record, Change: p.recorded.Change,
	}
	less.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(change KeyChange) bool {
		return !released[repairKey{change.Field, change.Key}]
	})
	if len(released) == 0 || len(less.Changes) == len(p.Changes) && less.Record.Equal(p.Record) {
		return nil
	}
	return less
}

// removals is what becomes of the keys of a field that are ours now, and are not after the
// plan; of all others nothing becomes.
func removals[K comparable](o fieldPlan[K], field Field, recorded map[K]Entry, released map[repairKey]bool) fieldPlan[K] {
	less := fieldPlan[K]{record: maps.Clone(recorded), copied: true, changed: map[K]*string{}}
	for key := range recorded {
		if _, stays := o.record[key]; stays {
			continue
		}
		released[repairKey{field, fmt.Sprint(key)}] = true
		delete(less.record, key)
		if after, changes := o.changed[key]; changes {
			less.changed[key] = after
		}
	}
	return less
}
