package plan

import (
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Memory is what a controller remembers of a node: what pools had there when it was last written,
// or last as they want it. The record on the node says that, too; but who takes a wall off may
// take its record with it, as whoever restores the node does. What is remembered, and gone with
// its record, is put back like any other drift, whatever else waits, where its pool still wants it
// and does not hold still. In all else the node is what it is to a controller that starts now.
type Memory struct {
	// Record is the text of the record.
	Record string
	// Shown is the text of the record as it was read last, where it was another one, and nothing
	// was written then; nil for none.
	Shown *string
	// Unconfirmed are the texts of records that may have been written since.
	Unconfirmed []string
	// Shared has the keys that others had put there as pools want them, in the form of a record:
	// of pools that waited for nothing, and none that evict.
	Shared Record
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
	// recorded is what the record on the node says, and what is remembered beside it; recalled
	// is that without what was never ours.
	recorded, recalled Record
	// live is what the record on the node says; replaced reports that it is another one than that
	// which is remembered.
	live     Record
	replaced bool
	// shared is what is remembered of keys that were never ours.
	shared Record
	// aside is what is remembered and not put back: of pools that hold still, or no longer want it,
	// and what there is no room for on the node.
	aside Record
}

// owned is what of a node is ours where this is remembered.
func (m *Memory) owned(node *NodeState, live Record, pools *render.Expansion) ownership {
	o := ownership{recorded: live, recalled: live, live: live}
	if m == nil {
		return o
	}
	o.shared = m.Shared
	had, another := m.record(node.Annotations[v1.AppliedAnnotation], live)
	if !another {
		return o
	}
	o.recorded.Labels, o.aside.Labels = recall(node, labels, live.Labels, had.Labels, pools)
	o.recorded.Annotations, o.aside.Annotations = recall(node, annotations, live.Annotations, had.Annotations, pools)
	o.recorded.Taints, o.aside.Taints = recall(node, taints, live.Taints, had.Taints, pools)
	o.recalled, o.replaced = o.recorded, true
	return o
}

// recall adds to what a record says of a field what it said before of keys that are gone from the
// node. Who owns a key that stands is what the record says now: another controller may have written
// it since. A key of a pool that holds still has no owner until the pool goes on.
func recall[K comparable](node *NodeState, at keyField[K], live, had map[K]Entry, pools *render.Expansion) (recorded, aside map[K]Entry) {
	recorded, aside = union(live, nil), map[K]Entry{}
	for key, entry := range had {
		_, ours := live[key]
		switch _, stands := at.value(node, key); {
		case stands, ours && pools.Holds(entry.Pool):
		case pools.Holds(entry.Pool):
			aside[key] = entry
		default:
			recorded[key] = entry
		}
	}
	return recorded, aside
}

// wanted is what is ours of what pools want by now. What is remembered of a pool that no longer wants
// it, or does not get it, has no owner: another pool that wants it waits as for any other change.
func (o ownership) wanted(desired render.Desired) ownership {
	if !o.replaced {
		return o
	}
	o.recorded.Labels, o.aside.Labels = wantedOf(o.recorded.Labels, o.live.Labels, o.aside.Labels, desired.Labels)
	o.recorded.Annotations, o.aside.Annotations = wantedOf(o.recorded.Annotations, o.live.Annotations, o.aside.Annotations, desired.Annotations)
	o.recorded.Taints, o.aside.Taints = wantedOf(o.recorded.Taints, o.live.Taints, o.aside.Taints, desired.Taints)
	o.recalled = o.recorded
	return o
}

func wantedOf[K comparable](recorded, live, aside map[K]Entry, want map[K]render.Want) (_, _ map[K]Entry) {
	wanted, left := maps.Clone(recorded), union(aside, nil)
	for key, entry := range recorded {
		now, ours := live[key]
		switch {
		case wants(want[key], entry.Pool), ours && now.equal(entry):
		case ours:
			wanted[key] = now
		default:
			delete(wanted, key)
			left[key] = entry
		}
	}
	return wanted, left
}

// wants reports whether a pool is among those that want a value and get it.
func wants(want render.Want, pool string) bool {
	return pool != "" && (want.Pool == pool || slices.Contains(want.Agreeing, pool))
}

// sharing has what pools still want, and others had put there, be ours where it is gone. Of a pool
// that holds still nothing comes that was never ours.
func (o ownership) sharing(node *NodeState, desired render.Desired, pools *render.Expansion) ownership {
	o.recorded.Labels = share(node, labels, o.recorded.Labels, o.shared.Labels, desired.Labels, pools)
	o.recorded.Annotations = share(node, annotations, o.recorded.Annotations, o.shared.Annotations, desired.Annotations, pools)
	o.recorded.Taints = share(node, taints, o.recorded.Taints, o.shared.Taints, desired.Taints, pools)
	return o
}

func share[K comparable](node *NodeState, at keyField[K], recorded, shared map[K]Entry, want map[K]render.Want, pools *render.Expansion) map[K]Entry {
	all := recorded
	for key, entry := range shared {
		_, ours := recorded[key]
		_, stands := at.value(node, key)
		if wanted := want[key]; ours || stands || pools.Holds(entry.Pool) || wanted.Pool != entry.Pool || wanted.Value != entry.Value {
			continue
		}
		if len(all) == len(recorded) { // it is still the one of the record, which others have as well
			all = union(recorded, nil)
		}
		all[key] = entry
	}
	return all
}

// recalls reports whether something is ours that the record on the node does not say.
func (o ownership) recalls() bool { return !o.recorded.Equal(o.live) }

// forgetting is what is ours by the record on the node alone.
func (o ownership) forgetting() ownership {
	live, all := o.live, o.recalled
	live.Change = o.recorded.Change
	all.Labels, all.Annotations, all.Taints = union(all.Labels, o.aside.Labels), union(all.Annotations, o.aside.Annotations), union(all.Taints, o.aside.Taints)
	return ownership{recorded: live, live: o.live, aside: all}
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
		m.Record, m.Unconfirmed = f.Memory.without(node, p, waits), before.Unconfirmed
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

// without is the text of the record that is remembered, without the keys that its record does not
// have, and of which it is known by now that they are not ours: those that stand on the node, which
// somebody has taken over, and those that no pool wants, nor has while it waits or holds still.
func (m *Memory) without(node *NodeState, p *NodePlan, waits func(pool string) bool) string {
	had, another := m.record(p.text, p.live)
	if !another {
		return p.text
	}
	less := had
	waiting := func(pool string) bool { return waits(pool) || p.pools.Holds(pool) }
	now := p.desired // or what pools want by what they see, while that is to change
	if p.step != nil {
		now = p.step.desired
	}
	less.Labels = stillOurs(node, labels, had.Labels, p.live.Labels, waiting, p.desired.Labels, now.Labels)
	less.Annotations = stillOurs(node, annotations, had.Annotations, p.live.Annotations, waiting, p.desired.Annotations, now.Annotations)
	less.Taints = stillOurs(node, taints, had.Taints, p.live.Taints, waiting, p.desired.Taints, now.Taints)
	if less.Equal(had) {
		return m.Record
	}
	return less.String()
}

func stillOurs[K comparable](node *NodeState, at keyField[K], had, live map[K]Entry, waiting func(pool string) bool, desired ...map[K]render.Want) map[K]Entry {
	less := maps.Clone(had)
	maps.DeleteFunc(less, func(key K, entry Entry) bool {
		_, ours := live[key]
		_, stands := at.value(node, key)
		wanted := slices.ContainsFunc(desired, func(want map[K]render.Want) bool { return wants(want[key], entry.Pool) })
		return !ours && (stands || !wanted && !waiting(entry.Pool))
	})
	return less
}

// sharedBeside are the keys that stand on the node as pools want them, and are not ours, and those
// that did before, are gone, and wanted still.
func (p *NodePlan) sharedBeside(node *NodeState, before Record, waits func(pool string) bool) Record {
	return Record{
		Labels:      sharedOf(node, labels, p.desired.Labels, p.recorded.Labels, before.Labels, p.pools, waits),
		Annotations: sharedOf(node, annotations, p.desired.Annotations, p.recorded.Annotations, before.Annotations, p.pools, waits),
		Taints:      sharedOf(node, taints, p.desired.Taints, p.recorded.Taints, before.Taints, p.pools, waits),
	}
}

func sharedOf[K comparable](node *NodeState, at keyField[K], want map[K]render.Want, recorded, before map[K]Entry, pools *render.Expansion, waits func(pool string) bool) map[K]Entry {
	each := func(found func(key K, entry Entry)) {
		for key, wanted := range want {
			entry := Entry{Pool: wanted.Pool, Value: wanted.Value}
			// What a pool has that holds still is as good as somebody else's.
			if now, ours := recorded[key]; ours && !pools.Holds(now.Pool) || at.evicts != nil && at.evicts(key) || waits(wanted.Pool) && before[key] != entry {
				continue
			}
			if value, stands := at.value(node, key); stands && value == wanted.Value {
				found(key, entry)
			}
		}
		for key, entry := range before {
			wanted := want[key]
			if _, stands := at.value(node, key); !stands && (pools.Holds(entry.Pool) || wanted.Pool == entry.Pool && wanted.Value == entry.Value) {
				found(key, entry)
			}
		}
	}
	same, others := 0, 0
	each(func(key K, entry Entry) {
		if before[key] == entry {
			same++
		} else {
			others++
		}
	})
	if others == 0 && same == len(before) {
		return before
	}
	shared := map[K]Entry{}
	each(func(key K, entry Entry) { shared[key] = entry })
	return shared
}

// remembered is the record after a plan, with what of ours it does not put back yet.
func (p *NodePlan) remembered() Record {
	record := p.Record
	record.Labels = withLost(record.Labels, p.labels.withheld, p.recorded.Labels, p.aside.Labels, p.desired.Labels, p.pools)
	record.Annotations = withLost(record.Annotations, p.annotations.withheld, p.recorded.Annotations, p.aside.Annotations, p.desired.Annotations, p.pools)
	record.Taints = withLost(record.Taints, p.taints.withheld, p.recorded.Taints, p.aside.Taints, p.desired.Taints, p.pools)
	return record
}

func withLost[K comparable](record map[K]Entry, withheld map[K]bool, recorded, aside map[K]Entry, want map[K]render.Want, pools *render.Expansion) map[K]Entry {
	if len(withheld)+len(aside) == 0 {
		return record
	}
	all := union(record, nil)
	for key := range withheld {
		if entry, ours := recorded[key]; ours {
			all[key] = entry
		}
	}
	for key, entry := range aside {
		_, ours := recorded[key]
		_, known := all[key]
		if !ours && !known && (wants(want[key], entry.Pool) || pools.Holds(entry.Pool)) {
			all[key] = entry
		}
	}
	return all
}
