package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/render"
)

// NodePlan is what is to be written to one node, and why.
type NodePlan struct {
	// Pools are the names of the pools that the node is in, sorted.
	Pools []string
	// Changes are the keys whose values change, sorted by field and key.
	Changes []KeyChange
	// Conflicts are the keys that pools do not get, sorted by field and key.
	Conflicts []KeyConflict
	// Record is what is ours afterwards.
	Record Record

	// unsettled reports that another write is due after this one.
	unsettled bool
	// step is the plan for what the pools see now, where this one is for what they will
	// see; nil where that is the same.
	step *NodePlan
	ownership
	// rewritten reports that the change of the record is another one afterwards.
	rewritten   bool
	desired     render.Desired
	pools       *render.Expansion
	labels      fieldPlan[string]
	annotations fieldPlan[string]
	taints      fieldPlan[render.TaintID]
}

// ownership is what of a node is ours. Live is the record as it stands on the node; recorded is the
// same, with the last change that the node has followed, which the record may not have yet.
type ownership struct{ recorded, live Record }

// outcome is what becomes of the keys of one field.
type fieldPlan[K comparable] struct {
	// record is what is ours afterwards. Until it is copied it is the very map of
	// what is ours now.
	record map[K]Entry
	copied bool
	// changed are the keys whose values change; nil for one that goes.
	changed map[K]*string
	// withheld are the keys whose change has to wait: see [NodePlan.without].
	withheld map[K]bool
}

// standing are the values of ours as they stand on the node afterwards: what an
// apply has to carry.
func (o fieldPlan[K]) standing(on *NodeState, at keyField[K]) map[K]string {
	standing := make(map[K]string, len(o.record))
	for key := range o.record {
		if o.withheld[key] {
			continue
		}
		if after, changes := o.changed[key]; changes {
			if after != nil {
				standing[key] = *after
			}
		} else if value, stands := at.value(on, key); stands {
			standing[key] = value
		}
	}
	return standing
}

// removes reports whether a key is taken off the node or given back.
func (o fieldPlan[K]) removes() bool {
	for key, after := range o.changed {
		if _, ours := o.record[key]; !ours || after == nil {
			return true
		}
	}
	return false
}

// Node plans the write that makes a node what the pools want, leaving alone
// whatever is not ours. A node whose record cannot be read gives a
// [*RecordError] and must be left as it is.
//
// Pools see a node without the labels that they have put there. A label that
// the plan releases and that stays, or that was adopted and goes, changes what
// they see, and may lead to other pools; the plan then is the one for what they
// will see, so that one write does it all.
func Node(node *NodeState, pools *render.Expansion) (*NodePlan, error) {
	return NodeFacts{}.plan(node, pools)
}

// plan is that of [Node], with the last change that is known of the node.
func (f NodeFacts) plan(node *NodeState, pools *render.Expansion) (*NodePlan, error) {
	live, err := readRecord(node)
	if err != nil {
		return nil, err
	}
	recorded := live
	if live.Change.Behind(f.LastChange) {
		recorded.Change = f.LastChange
	}
	ours := ownership{recorded, live}
	seen := live.underlyingLabels(node.Labels)
	first := weighAll(node, ours, seen, pools)
	if first.leavesLabels() {
		return first, nil
	}
	p := first
	for range maxRounds {
		after := p.Record.underlyingLabels(p.labelsAfter(node.Labels))
		if maps.Equal(seen, after) {
			if p != first {
				p.step = first
			}
			return p, nil
		}
		seen = after
		p = weighAll(node, ours, seen, pools)
	}
	// What the pools see goes to and fro. Step by step it comes to rest: what
	// was released in the first step is not in the record of the second.
	first.unsettled = true
	return first, nil
}

// maxRounds is how often a plan is made for what pools will see. Each round lets
// go of another label; more than one is rare.
const maxRounds = 8

// leavesLabels reports whether no label changes, nor what the record says of labels.
// What the pools see is what it was then, as it is for an unchanged node.
func (p *NodePlan) leavesLabels() bool {
	return len(p.labels.changed) == 0 && maps.EqualFunc(p.Record.Labels, p.recorded.Labels, Entry.equal)
}

// weighAll plans for a node of which the pools see these labels.
func weighAll(node *NodeState, ours ownership, seen map[string]string, pools *render.Expansion) *NodePlan {
	desired := pools.Node(node.Name, seen)
	return weighDesired(node, ours, desired, pools)
}

// weighDesired plans for a node of which this is desired. It leaves out what does not fit.
func weighDesired(node *NodeState, ours ownership, desired render.Desired, pools *render.Expansion) *NodePlan {
	p := &NodePlan{Pools: desired.Pools, ownership: ours, desired: desired, pools: pools}
	others, noRoom := &owners{object: node}, overflowOf(node, ours.recorded, desired)

	p.labels = weigh(p, keys[string]{
		keyField: labels, node: node, others: others, pools: pools, recorded: ours.recorded.Labels, want: desired.Labels, noRoom: noRoom.labels,
	})
	p.annotations = weigh(p, keys[string]{
		keyField: annotations, node: node, others: others, pools: pools, recorded: ours.recorded.Annotations, want: desired.Annotations, noRoom: noRoom.annotations,
	})
	p.taints = weigh(p, keys[render.TaintID]{
		keyField: taints, node: node, others: others, pools: pools, recorded: ours.recorded.Taints, want: desired.Taints, noRoom: noRoom.taints,
	})
	p.Record = Record{Labels: p.labels.record, Annotations: p.annotations.record, Taints: p.taints.record}
	slices.SortFunc(p.Changes, compareKeyChanges)
	slices.SortFunc(p.Conflicts, compareKeyConflicts)
	return p
}

// labelsAfter are the labels of the node once the plan is carried out.
func (p *NodePlan) labelsAfter(live map[string]string) map[string]string {
	if len(p.labels.changed) == 0 {
		return live
	}
	after := make(map[string]string, len(live)+len(p.labels.changed))
	maps.Copy(after, live)
	for key, value := range p.labels.changed {
		if value == nil {
			delete(after, key)
		} else {
			after[key] = *value
		}
	}
	return after
}

// NoOp reports whether there is nothing to write.
func (p *NodePlan) NoOp() bool {
	return len(p.Changes) == 0 && p.Record.Equal(p.live) && !p.rewritten
}

// Recorded is what is ours before the write.
func (p *NodePlan) Recorded() Record { return p.recorded }

// Releases returns the pools that the write releases: the record had keys of them
// and have none afterwards.
func (p *NodePlan) Releases() []string {
	after := p.Record.Pools()
	released := p.live.Pools()
	maps.DeleteFunc(released, func(pool string, _ bool) bool { return after[pool] })
	return slices.Sorted(maps.Keys(released))
}

// weigh applies the rule to every key of one field and notes the changes and
// conflicts in the plan.
func weigh[K comparable](p *NodePlan, k keys[K]) fieldPlan[K] {
	out := fieldPlan[K]{record: k.recorded}
	consider := func(key K) {
		if k.unchanged(key) {
			return
		}
		decision := k.verdict(key)
		out.note(key, decision.entry, k.recorded)
		have := k.standing(key)
		if decision.change {
			if out.changed == nil {
				out.changed = map[K]*string{}
			}
			out.changed[key] = decision.after
			p.Changes = append(p.Changes, KeyChange{
				Field: k.field, Key: fmt.Sprint(key), Before: have, After: decision.after,
				Pool: decision.pool, Drift: decision.drift,
			})
		}
		if !decision.conflict && len(k.want[key].Younger) == 0 {
			return
		}
		if conflict := k.conflict(key, have, decision); !conflict.nobody() {
			p.Conflicts = append(p.Conflicts, conflict)
		}
	}
	for key := range k.want {
		consider(key)
	}
	for key := range k.recorded {
		if _, wanted := k.want[key]; !wanted {
			consider(key)
		}
	}
	return out
}

// note notes what the record says of a key afterwards; nil if nothing. What is
// recorded now is copied when it first says something else.
func (o *fieldPlan[K]) note(key K, entry *Entry, recorded map[K]Entry) {
	before, ours := recorded[key]
	if entry == nil && !ours || entry != nil && ours && entry.equal(before) {
		return
	}
	if !o.copied {
		o.record, o.copied = maps.Clone(recorded), true
		if o.record == nil {
			o.record = map[K]Entry{}
		}
	}
	if entry == nil {
		delete(o.record, key)
	} else {
		o.record[key] = *entry
	}
}
