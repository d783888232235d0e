package plan

import (
	"fmt"
	"maps"
	"slices"
)

// without is the plan without the changes of some keys. They stay as they are on
// the node, and the record says of them what it says now, so that it describes
// what stands. An apply does not carry them, not even a value of others that
// stands there: it would become ours as well, see [NodePlan.Patch]. Of the list of
// taints it carries what stands, as for any other taint of somebody else's.
func (p *NodePlan) without(keys map[repairKey]bool) *NodePlan {
	if len(keys) == 0 {
		return p
	}
	less := *p
	less.labels = withhold(p.labels, Label, p.live.Labels, keys)
	less.annotations = withhold(p.annotations, Annotation, p.live.Annotations, keys)
	less.taints = withhold(p.taints, Taint, p.live.Taints, keys)
	less.Record = Record{Labels: less.labels.record, Annotations: less.annotations.record, Taints: less.taints.record}
	less.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(change KeyChange) bool {
		return keys[repairKey{change.Field, change.Key}]
	})
	return &less
}

// withheldKeys are the keys that a plan leaves as they are, though they are to change.
func (p *NodePlan) withheldKeys() map[repairKey]bool {
	keys := map[repairKey]bool{}
	addTrue(keys, Label, p.labels.withheld)
	addTrue(keys, Annotation, p.annotations.withheld)
	addTrue(keys, Taint, p.taints.withheld)
	return keys
}

func addTrue[K comparable](keys map[repairKey]bool, field Field, of map[K]bool) {
	for key, is := range of {
		if is {
			keys[repairKey{field, fmt.Sprint(key)}] = true
		}
	}
}

// withhold is an outcome without the changes of some keys.
func withhold[K comparable](o fieldPlan[K], field Field, recorded map[K]Entry, keys map[repairKey]bool) fieldPlan[K] {
	less := fieldPlan[K]{record: maps.Clone(o.record), copied: true, changed: maps.Clone(o.changed), withheld: maps.Clone(o.withheld)}
	if less.withheld == nil {
		less.withheld = map[K]bool{}
	}
	if less.record == nil {
		less.record = map[K]Entry{}
	}
	for key := range o.changed {
		if !keys[repairKey{field, fmt.Sprint(key)}] {
			continue
		}
		less.withheld[key] = true
		delete(less.changed, key)
		if entry, ours := recorded[key]; ours {
			less.record[key] = entry
		} else {
			delete(less.record, key)
		}
	}
	return less
}
