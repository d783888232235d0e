package plan

import (
	"fmt"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// keys weighs what stands on a node against what the pools want, for one field.
//
// The rule, for each key that is in the record or that a pool wants:
//
//   - In the record: it is ours. It gets the value that is wanted, also when somebody
//     changed it by hand. No longer wanted, it goes, or gets back the value that it had before it was taken over; but a
//     value that differs from the one we put there is somebody else's and stays.
//     A label that was adopted goes too, unless pools choose their members by it: that
//     counts with its earlier value for as long as it is ours, and no pool makes or ends
//     members of another.
//   - Not in the record and not on the node: it is put there.
//   - Not in the record, on the node with the value that is wanted: it is shared.
//     Nothing is written, and nothing will go when the pool releases it.
//   - Not in the record, on the node with another value: it is somebody else's,
//     and the pool's conflict policy decides.
//   - A key that belongs to another program is never taken: its policy is Report
//     whatever the pool says, and one that a pool has adopted all the same gets its
//     earlier value back. Validation refuses such pools.
//   - Of a faulty pool: it stays as it is, unless a pool of a higher rank wants it. Of a pool that is
//     gone without a deletion: unless any pool wants it.
//   - Without room on the node, since stronger pools have taken it: as if no pool wanted it.
//
// A key that was adopted stays adopted, whatever pool has it and whatever that
// pool's policy becomes. One that was taken over becomes adopted when the pool
// that has it adopts.
type keys[K comparable] struct {
	keyField[K]
	node     *NodeState
	others   *owners
	pools    *render.Expansion
	recorded map[K]Entry
	want     map[K]render.Want
	// noRoom are the keys that do not fit on the node: see [overflowOf].
	noRoom map[K]bool
}

// verdict is what the rule says of one key.
type verdict struct {
	// entry in the next record; nil when the key is not ours.
	entry *Entry
	// after is the value that stands there afterwards; nil for none.
	after *string
	// change reports whether after differs from what stands there now; pool is the
	// one that it is made for, and drift whether it undoes somebody's change.
	change bool
	pool   string
	drift  bool
	// conflict reports that the pools which agree on the value do not get it; holder
	// is the pool that holds still and has the key, if that is why.
	conflict bool
	holder   string
	// noRoom reports that it is a conflict because the key does not fit.
	noRoom bool
}

// unchanged reports of almost every key, at once, that the rule changes nothing: it
// stands there as it is wanted, and is of the pool that wants it by the record, or
// shared. Whether that pool holds still then makes no difference.
func (k keys[K]) unchanged(key K) bool {
	want, wanted := k.want[key]
	have, standing := k.value(k.node, key)
	if !wanted || !standing || have != want.Value || len(want.Younger) > 0 || k.noRoom[key] {
		return false
	}
	entry, ours := k.recorded[key]
	if !ours {
		return k.policy(key, want) != v1.Adopt
	}
	adopts := k.policy(key, want) == v1.Adopt && entry.Before != nil && !entry.Adopted
	return entry.Pool == want.Pool && entry.Value == want.Value && !adopts
}

// policy is how far the pool that has a key may go for it.
func (k keys[K]) policy(key K, want render.Want) v1.ConflictPolicy {
	if takes := want.Policy == v1.TakeOver || want.Policy == v1.Adopt; takes && k.belongsToOthers(key) {
		return v1.ReportConflicts
	}
	return want.Policy
}

func (k keys[K]) belongsToOthers(key K) bool { return k.reportOnly != nil && k.reportOnly(key) }

// standing is the value of a key on the node; nil for none.
func (k keys[K]) standing(key K) *string {
	if value, found := k.value(k.node, key); found {
		return &value
	}
	return nil
}

// verdict applies the rule to one key.
func (k keys[K]) verdict(key K) verdict {
	have := k.standing(key)
	entry, ours := k.recorded[key]
	want, wanted := k.want[key]
	want.Policy = k.policy(key, want)
	switch {
	case ours && k.pools.HoldsAgainst(entry.Pool, want.Pool): // which is none where it is not wanted
		return k.hold(have, entry, want, wanted)
	case wanted && k.noRoom[key]:
		return k.deny(key, have, entry, ours)
	case wanted && ours:
		return k.keep(have, entry, want)
	case wanted && have == nil:
		return k.set(have, Entry{Pool: want.Pool, Value: want.Value})
	case wanted:
		return k.meet(have, want)
	default:
		return k.release(key, have, entry)
	}
}

// hold leaves everything as it stands, in the record too.
func (k keys[K]) hold(have *string, entry Entry, want render.Want, wanted bool) verdict {
	denied := wanted && (have == nil || *have != want.Value)
	return verdict{entry: &entry, after: have, conflict: denied, holder: entry.Pool}
}

// deny leaves out a key that does not fit, or releases it.
func (k keys[K]) deny(key K, have *string, entry Entry, ours bool) verdict {
	decision := verdict{after: have}
	if ours {
		decision = k.release(key, have, entry)
	}
	decision.conflict, decision.noRoom = true, true
	return decision
}

// keep brings a key that is ours to the value that is wanted.
func (k keys[K]) keep(have *string, entry Entry, want render.Want) verdict {
	next := Entry{Pool: want.Pool, Value: want.Value, Before: earlier(have, entry, want.Policy), Adopted: entry.Adopted}
	if want.Policy == v1.Adopt && next.Before != nil {
		next.Adopted = true
	}
	decision := k.set(have, next)
	decision.drift = decision.change && entry.Value == want.Value
	return decision
}

// earlier is the value that comes back when a key that is ours is released. Where
// somebody has changed a key that was taken over, that is what they want it to be
// by now: their new value, or none where they have withdrawn it. A pool that takes
// over does so from whoever comes later, too.
func earlier(have *string, entry Entry, policy v1.ConflictPolicy) *string {
	switch {
	case entry.Adopted, entry.Before == nil && policy != v1.TakeOver:
		return entry.Before
	case have == nil:
		return nil
	case *have != entry.Value:
		return have
	}
	return entry.Before
}

// meet decides about a key that somebody else has put there.
func (k keys[K]) meet(have *string, want render.Want) verdict {
	switch equal := *have == want.Value; {
	case want.Policy == v1.Adopt:
		return k.set(have, Entry{Pool: want.Pool, Value: want.Value, Before: have, Adopted: true})
	case equal:
		return verdict{after: have}
	case want.Policy == v1.TakeOver:
		return k.set(have, Entry{Pool: want.Pool, Value: want.Value, Before: have})
	default:
		return verdict{after: have, conflict: true}
	}
}

func (k keys[K]) set(have *string, entry Entry) verdict {
	return verdict{
		entry:  &entry,
		after:  &entry.Value,
		change: have == nil || *have != entry.Value,
		pool:   entry.Pool,
	}
}

// release decides on a key that is ours and no longer wanted.
func (k keys[K]) release(key K, have *string, entry Entry) verdict {
	switch {
	case have == nil || *have != entry.Value:
		return verdict{after: have} // somebody else's by now
	case entry.Adopted && (entry.Before == nil || !k.belongsToOthers(key) && !k.choosesMembers(key)):
		return verdict{change: true, pool: entry.Pool}
	case k.coApplied(key):
		return verdict{after: have} // another applier has put it there as well, and no earlier than now
	case entry.Before != nil:
		return verdict{after: entry.Before, change: *entry.Before != entry.Value, pool: entry.Pool}
	default:
		return verdict{change: true, pool: entry.Pool}
	}
}

// choosesMembers reports whether pools choose their members by a label.
func (k keys[K]) choosesMembers(key K) bool {
	return k.field == Label && k.pools.Selects(fmt.Sprint(key))
}

// coApplied reports whether another applier keeps a key that is released. A kubelet
// may apply the value that stands there, as that changes nothing: of what a kubelet
// may not set, nobody else keeps anything, or a node that is thrown out of a pool
// would keep its labels. Which field manager is a kubelet's cannot be known.
func (k keys[K]) coApplied(key K) bool {
	return k.alone && !(k.field == Label && !render.KubeletMaySet(fmt.Sprint(key))) && k.others.alsoApplied(k.path(key))
}

// conflict is what is reported to pools of a key after a verdict.
func (k keys[K]) conflict(key K, have *string, decision verdict) KeyConflict {
	c := KeyConflict{
		reason: Conflict{Field: k.field, Key: fmt.Sprint(key), Have: decision.after, Holder: decision.holder, NoRoom: decision.noRoom},
		denied: decision.conflict, want: k.want[key],
	}
	if decision.conflict && !decision.noRoom && have != nil {
		c.nameSetters(k.others.setBy(k.path(key)))
	}
	return c
}

func lookup[K comparable](values map[K]string, key K) (*string, bool) {
	value, found := values[key]
	if !found {
		return nil, false
	}
	return &value, true
}
