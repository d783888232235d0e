package plan

import (
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Memory is what a controller remembers of a node: what pools had there when it was last written,
// or last as they want it. The record on the node says that, too; but who takes a taint off may
// take its record with it, as whoever restores the node does. A taint that is remembered, and gone
// with its record, is put back like any other drift, whatever else waits, where its pool still
// wants it and does not hold still: it keeps pods off, and is none the worse for what waits. In all
// else, labels too, the node is what it is to a controller that starts now.
type Memory struct {
	// Record is the text of the record.
	Record string
	// Shown is the text of the record as it was read last, where it was another one, and nothing
	// was written then; nil for none.
	Shown *string
	// Unconfirmed are the texts of records that may have been written since.
	Unconfirmed []string
	// Shared has the taints that others had put there as pools want them: of pools that waited for
	// nothing, and none that evict.
	Shared map[render.TaintID]Entry
}

// maxUnconfirmed is how many records are remembered that may have been written. After that, nothing
// is known of the node.
const maxUnconfirmed = 8

// Expects reports whether the record of a node says what is remembered, or is known to say something
// else. If not, the node may be an older one, of a cache that is behind.
func (m *Memory) Expects(node *NodeState) bool {
	text := node.Annotations[v1.AppliedAnnotation]
	if m == nil || m.Shown != nil && *m.Shown == text {
		return true
	}
	live, err := readRecord(node)
	if err != nil {
		return true
	}
	_, another := m.record(text, live)
	return !another
}

// record is the one that is remembered of a node whose record is a text and says this, and
// reports whether it is another one.
func (m *Memory) record(text string, live Record) (_ Record, another bool) {
	if m == nil || m.Record == text {
		return live, false
	}
	had, err := recordTexts.read(m.Record)
	if err != nil || anySays(m.Unconfirmed, live) { // the error never: it was read, or written
		return live, false
	}
	return had, !had.Equal(live)
}

// anySays reports whether one of some texts is that of a record, as far as it says what is ours.
func anySays(texts []string, record Record) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		said, err := recordTexts.read(text)
		return err == nil && said.Equal(record)
	})
}

// ownership is what of a node is ours.
type ownership struct {
	// recorded is what the record on the node says, and the taints that are remembered beside it;
	// recalled is that without what was never ours.
	recorded, recalled Record
	// live is what the record on the node says; replaced reports that it is another one than had,
	// which is remembered.
	live, had Record
	replaced  bool
	// shared are the remembered taints that were never ours.
	shared map[render.TaintID]Entry
	// aside are those that are remembered and not put back: of pools that hold still, or no longer
	// want them, and for which there is no room on the node.
	aside map[render.TaintID]Entry
}

// owned is what of a node is ours where this is remembered.
func (m *Memory) owned(node *NodeState, live Record, pools *render.Expansion) ownership {
	o := ownership{recorded: live, recalled: live, live: live}
	if m == nil {
		return o
	}
	o.shared = m.Shared
	if o.had, o.replaced = m.record(node.Annotations[v1.AppliedAnnotation], live); o.replaced {
		o.recorded.Taints, o.aside = recall(node, live.Taints, o.had.Taints, pools)
		o.recalled = o.recorded
	}
	return o
}

// recall adds to the taints of a record those that it had before and that are gone from the node. Who
// owns a taint that stands is what the record says now: another controller may have written it since.
// A taint of a pool that holds still has no owner until the pool goes on.
func recall(node *NodeState, live, had map[render.TaintID]Entry, pools *render.Expansion) (recorded, aside map[render.TaintID]Entry) {
	recorded, aside = union(live, nil), map[render.TaintID]Entry{}
	for id, entry := range had {
		_, ours := live[id]
		switch _, stands := taintValue(node, id); {
		case stands, ours && pools.Holds(entry.Pool):
		case pools.Holds(entry.Pool):
			aside[id] = entry
		default:
			recorded[id] = entry
		}
	}
	return recorded, aside
}

// wanted is what is ours of what pools want by now. A remembered taint of a pool that no longer wants
// it, or does not get it, has no owner: another pool that wants it waits as for any other change.
func (o ownership) wanted(want map[render.TaintID]render.Want) ownership {
	if !o.replaced {
		return o
	}
	wanted, left := maps.Clone(o.recorded.Taints), union(o.aside, nil)
	for id, entry := range o.recorded.Taints {
		now, ours := o.live.Taints[id]
		switch {
		case wants(want[id], entry.Pool), ours && now.equal(entry):
		case ours:
			wanted[id] = now
		default:
			delete(wanted, id)
			left[id] = entry
		}
	}
	o.recorded.Taints, o.aside = wanted, left
	o.recalled = o.recorded
	return o
}

// wants reports whether a pool is among those that want a value and get it.
func wants(want render.Want, pool string) bool {
	return pool != "" && (want.Pool == pool || slices.Contains(want.Agreeing, pool))
}

// sharing has taints that pools still want, and others had put there, be ours where they are gone. Of
// a pool that holds still nothing comes that was never ours.
func (o ownership) sharing(node *NodeState, want map[render.TaintID]render.Want, pools *render.Expansion) ownership {
	recorded := o.recorded.Taints
	all := recorded
	for id, entry := range o.shared {
		_, ours := recorded[id]
		_, stands := taintValue(node, id)
		if wanted := want[id]; ours || stands || pools.Holds(entry.Pool) || wanted.Pool != entry.Pool || wanted.Value != entry.Value {
			continue
		}
		if len(all) == len(recorded) { // it is still the one of the record, which others have as well
			all = union(recorded, nil)
		}
		all[id] = entry
	}
	o.recorded.Taints = all
	return o
}

// recalls reports whether something is ours that the record on the node does not say.
func (o ownership) recalls() bool {
	return !maps.EqualFunc(o.recorded.Taints, o.live.Taints, Entry.equal)
}

// forgetting is what is ours by the record on the node alone.
func (o ownership) forgetting() ownership {
	live := o.live
	live.Change = o.recorded.Change
	return ownership{recorded: live, live: o.live, had: o.had, aside: union(o.recalled.Taints, o.aside)}
}

// union is a new map of all entries: those of b go before those of a.
func union[K comparable](a, b map[K]Entry) map[K]Entry {
	all := maps.Clone(a)
	if all == nil {
		all = map[K]Entry{}
	}
	maps.Copy(all, b)
	return all
}

// recordReplaced reports whether the record of a node says something else than what is remembered.
// Nobody but a controller writes it: somebody undoes what this one does.
func (f NodeFacts) recordReplaced(p *NodePlan) bool {
	_, another := f.Memory.record(p.text, p.live)
	return another
}

// Remember is what to remember of a node of which this was written; nil for nothing. While
// something waits, that stays what it was, but for keys that were handed over meanwhile. What is
// not confirmed may have been written, or be written later.
func (f NodeFacts) Remember(node *NodeState, o NodeOutcome, written *NodePlan, unconfirmed bool) *Memory {
	p, before := o.Plan, Memory{}
	if p == nil { // its record cannot be read
		return f.Memory
	}
	if f.Memory != nil {
		before = *f.Memory
	}
	// Of a paused node it is not known what waits.
	waits := func(pool string) bool { return o.Paused || o.Wait.Of(pool) != nil }
	m := Memory{Record: p.text, Shared: p.sharedBeside(node, before.Shared, waits)}
	if written != nil && !written.NoOp() && !unconfirmed {
		m.Record = written.remembered().String()
		return &m
	}
	switch {
	case p.NoOp():
		if remembered := p.remembered(); !remembered.Equal(p.live) {
			m.Record = remembered.String()
		}
	case f.Memory != nil:
		m.Record, m.Unconfirmed = f.Memory.since(node, p), before.Unconfirmed
	}
	if unconfirmed {
		if !anySays(m.Unconfirmed, written.Record) {
			m.Unconfirmed = append(slices.Clip(m.Unconfirmed), written.Record.String())
		}
	} else if m.Record != p.text {
		text := p.text // of the plan, no more is kept
		m.Shown = &text
	}
	if len(m.Unconfirmed) > maxUnconfirmed {
		return nil
	}
	return &m
}

// since is the text of the record that is remembered of a node on which something waits: with the keys
// that its record has beside, and without those that it does not have, and of which it is known by now
// that they are not ours: those that stand on the node, which somebody has taken over, and those that
// their pool no longer wants, unless it holds still.
func (m *Memory) since(node *NodeState, p *NodePlan) string {
	had, another := m.record(p.text, p.live)
	if !another {
		return p.text
	}
	now := had
	seen := p.desired // or what pools want by what they see, while that is to change
	if p.step != nil {
		seen = p.step.desired
	}
	now.Labels = stillOurs(node, labels, had.Labels, p.live.Labels, p.pools.Holds, p.desired.Labels, seen.Labels)
	now.Annotations = stillOurs(node, annotations, had.Annotations, p.live.Annotations, p.pools.Holds, p.desired.Annotations, seen.Annotations)
	now.Taints = stillOurs(node, taints, had.Taints, p.live.Taints, p.pools.Holds, p.desired.Taints, seen.Taints)
	if now.Equal(had) {
		return m.Record
	}
	return now.String()
}

func stillOurs[K comparable](node *NodeState, at keyField[K], had, live map[K]Entry, holds func(pool string) bool, desired ...map[K]render.Want) map[K]Entry {
	all := union(live, had)
	maps.DeleteFunc(all, func(key K, entry Entry) bool {
		_, ours := live[key]
		_, stands := at.value(node, key)
		wanted := slices.ContainsFunc(desired, func(want map[K]render.Want) bool { return wants(want[key], entry.Pool) })
		return !ours && (stands || !wanted && !holds(entry.Pool))
	})
	return all
}

// sharedBeside are the taints that stand on the node as pools want them, and are not ours, and those
// that did before, are gone, and wanted still.
func (p *NodePlan) sharedBeside(node *NodeState, before map[render.TaintID]Entry, waits func(pool string) bool) map[render.TaintID]Entry {
	each := func(found func(id render.TaintID, entry Entry)) {
		for id, wanted := range p.desired.Taints {
			entry := Entry{Pool: wanted.Pool, Value: wanted.Value}
			// What a pool has that holds still is as good as somebody else's.
			if now, ours := p.recorded.Taints[id]; ours && !p.pools.Holds(now.Pool) || taints.evicts(id) || waits(wanted.Pool) && before[id] != entry {
				continue
			}
			if value, stands := taintValue(node, id); stands && value == wanted.Value {
				found(id, entry)
			}
		}
		for id, entry := range before {
			wanted := p.desired.Taints[id]
			if _, stands := taintValue(node, id); !stands && (p.pools.Holds(entry.Pool) || wanted.Pool == entry.Pool && wanted.Value == entry.Value) {
				found(id, entry)
			}
		}
	}
	same, others := 0, 0
	each(func(id render.TaintID, entry Entry) {
		if before[id] == entry {
			same++
		} else {
			others++
		}
	})
	if others == 0 && same == len(before) {
		return before
	}
	shared := map[render.TaintID]Entry{}
	each(func(id render.TaintID, entry Entry) { shared[id] = entry })
	return shared
}

// remembered is the record after a plan, with what of ours it does not put back yet.
func (p *NodePlan) remembered() Record {
	record := p.Record
	record.Labels = withLost(record.Labels, p.labels.withheld, p.had.Labels)
	record.Annotations = withLost(record.Annotations, p.annotations.withheld, p.had.Annotations)
	record.Taints = withLost(record.Taints, p.taints.withheld, p.recorded.Taints)
	if len(p.aside) == 0 {
		return record
	}
	record.Taints = union(record.Taints, nil)
	for id, entry := range p.aside {
		_, ours := p.recorded.Taints[id]
		_, known := record.Taints[id]
		if !ours && !known && (wants(p.desired.Taints[id], entry.Pool) || p.pools.Holds(entry.Pool)) {
			record.Taints[id] = entry
		}
	}
	return record
}

func withLost[K comparable](record map[K]Entry, withheld map[K]bool, had map[K]Entry) map[K]Entry {
	if len(withheld) == 0 {
		return record
	}
	all := union(record, nil)
	for key := range withheld {
		if entry, ours := had[key]; ours {
			all[key] = entry
		}
	}
	return all
}
