package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// keys weighs what stands on a node against what the pools want, for one field.
//
// The rule, for each key that is in the record or that a pool wants:
//
//   - In the record: it is ours. It gets the value that is wanted, also when
//     somebody changed it by hand. No longer wanted, it goes, or gets back the
//     value that it had before it was taken over; but a value that differs from
//     the one we put there is somebody else's and stays.
//   - Not in the record and not on the node: it is put there.
//   - Not in the record, on the node with the value that is wanted: it is shared.
//     Nothing is written, and nothing will go when the pool lets go of it.
//   - Not in the record, on the node with another value: it is somebody else's,
//     and the pool's conflict policy decides.
//   - A key that belongs to another program is never taken: its policy is Report
//     whatever the pool says, and one that a pool has adopted all the same gets its
//     earlier value back. Validation refuses such pools; what is here is for those
//     that are older than that rule.
//   - Contested between pools, or of a pool that holds still: it stays as it is.
//     A contested key that is ours then belongs to one of those who contest it,
//     so that a pool which wants it no longer is not kept by it.
//
// A key that was adopted stays adopted, whatever pool has it and whatever that
// pool's policy becomes. One that was taken over becomes adopted when the pool
// that has it adopts.
type keys[K comparable] struct {
	place[K]
	node     *corev1.Node
	others   *owners
	pools    *render.Expansion
	recorded map[K]Entry
	want     map[K]render.Want
}

// verdict is what the rule says of one key.
type verdict struct {
	// entry in the next record; nil when the key is not ours.
	entry *Entry
	// after is the value that stands there afterwards; nil for none.
	after *string
	// change tells whether after differs from what stands there now; pool is the
	// one that it is made for, and drift whether it undoes somebody's change.
	change bool
	pool   string
	drift  bool
	// conflict tells that pools do not get what they want; holder is the pool
	// that holds still and has the key, if that is why.
	conflict bool
	holder   string
}

// atRest tells of almost every key, at once, that the rule changes nothing: it
// stands there as it is wanted, and is of the pool that wants it by the record, or
// shared. Whether that pool holds still then makes no difference.
func (k keys[K]) atRest(key K) bool {
	want, wanted := k.want[key]
	have, standing := k.value(k.node, key)
	if !wanted || !standing || have != want.Value || want.Contested() {
		return false
	}
	entry, ours := k.recorded[key]
	if !ours {
		return k.policy(key, want) != v1.Adopt
	}
	adopts := k.policy(key, want) == v1.Adopt && entry.Before != nil && !entry.Adopted
	return entry.Pool == want.Pool && entry.Value == want.Value && !adopts
}

// policy is how far the pool that has its way may go for a key.
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
	case ours && k.pools.Holds(entry.Pool):
		return k.hold(have, entry, want, wanted)
	case wanted && want.Contested():
		return k.contested(have, entry, ours, want.Claims)
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
	denied := wanted && (want.Contested() || have == nil || *have != want.Value)
	return verdict{entry: &entry, after: have, conflict: denied, holder: entry.Pool}
}

// contested leaves the value as it stands.
func (k keys[K]) contested(have *string, entry Entry, ours bool, claims []render.Claim) verdict {
	if !ours {
		return verdict{after: have, conflict: true}
	}
	if !slices.ContainsFunc(claims, func(claim render.Claim) bool { return claim.Pool == entry.Pool }) {
		entry.Pool = claims[0].Pool
	}
	return verdict{entry: &entry, after: have, conflict: true}
}

// keep brings a key that is ours to the value that is wanted.
func (k keys[K]) keep(have *string, entry Entry, want render.Want) verdict {
	next := Entry{Pool: want.Pool, Value: want.Value, Before: entry.Before, Adopted: entry.Adopted}
	if want.Policy == v1.Adopt && entry.Before != nil {
		next.Adopted = true
	}
	decision := k.set(have, next)
	decision.drift = decision.change && entry.Value == want.Value
	return decision
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

// release lets go of a key that is ours and no longer wanted.
func (k keys[K]) release(key K, have *string, entry Entry) verdict {
	switch {
	case have == nil || *have != entry.Value:
		return verdict{after: have} // somebody else's by now
	case entry.Adopted && (entry.Before == nil || !k.belongsToOthers(key)):
		return verdict{change: true, pool: entry.Pool}
	case entry.Before != nil:
		return verdict{after: entry.Before, change: *entry.Before != entry.Value, pool: entry.Pool}
	case k.alone && k.others.alsoApplied(k.path(key)):
		return verdict{after: have} // another applier has put it there as well
	default:
		return verdict{change: true, pool: entry.Pool}
	}
}

func lookup[K comparable](values map[K]string, key K) (*string, bool) {
	value, found := values[key]
	if !found {
		return nil, false
	}
	return &value, true
}
