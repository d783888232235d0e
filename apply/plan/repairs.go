package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Repairs is what is known of the repairs of one node. It is not changed any more
// once it is made; nil is nothing known. It holds an entry for each key that was put
// back within the last [RepairBackoff.Quiet], and may be lost at any time: then the
// next repair counts as a first one.
type Repairs struct {
	node types.UID
	keys map[repairKey]repaired
	// slot is when keys that are put back at the slowest rate were last put back.
	slot time.Time
}

// repairKey is a key of a node.
type repairKey struct {
	field Field
	key   string
}

// repaired is what is known of one key.
type repaired struct {
	// pool that it is put back for.
	pool string
	// value that is put back; nil where the key is removed.
	value *string
	// count of the repairs, the last of them, and the two before it.
	count  int
	last   time.Time
	before [2]time.Time
	// due is when the next repair may be made, while one is wanted.
	due       time.Time
	contested bool
	// managers are the field managers that were found to own the key while it had to
	// be put back, sorted, maxSetBy at most.
	managers []string
}

// current returns a copy without what is over: that of another node of the same
// name, keys that have been quiet since a time, and keys that are no longer ours to
// put back.
func (r *Repairs) current(node types.UID, p *NodePlan, quiet time.Time) *Repairs {
	next := &Repairs{node: node, keys: map[repairKey]repaired{}}
	if r == nil || r.node != node {
		return next
	}
	next.slot = r.slot
	for id, k := range r.keys {
		waits := !k.due.IsZero()
		k.due = time.Time{}
		if (waits || k.last.After(quiet)) && (k.value == nil || p.records(id, k)) {
			next.keys[id] = k
		}
	}
	return next
}

// records reports whether a key is to have the value that was put back before, for
// the same pool.
func (p *NodePlan) records(id repairKey, k repaired) bool {
	entries := p.Record.Labels
	switch id.field {
	case Annotation:
		entries = p.Record.Annotations
	case Taint:
		for taint, entry := range p.Record.Taints {
			if taint.String() == id.key {
				return entry.Value == *k.value && entry.Pool == k.pool
			}
		}
		return false
	}
	entry, ours := entries[id.key]
	return ours && entry.Value == *k.value && entry.Pool == k.pool
}

func (r *Repairs) clone() *Repairs {
	return &Repairs{node: r.node, slot: r.slot, keys: maps.Clone(r.keys)}
}

// orNone is nil where nothing is known.
func (r *Repairs) orNone() *Repairs {
	maps.DeleteFunc(r.keys, func(_ repairKey, k repaired) bool { return k.count == 0 })
	if len(r.keys) == 0 {
		return nil
	}
	return r
}

// Next is when the node has to be looked at again: when a key may be put back, or
// when one is forgotten. It is the zero time where nothing is known.
func (b RepairBackoff) Next(r *Repairs) time.Time {
	var next time.Time
	if r == nil {
		return next
	}
	for _, k := range r.keys {
		at := k.due
		if at.IsZero() {
			at = k.last.Add(b.Quiet)
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// Contests are the keys of the node that somebody else keeps changing, sorted by
// field, key and pool.
func (r *Repairs) Contests() []Contest {
	if r == nil {
		return nil
	}
	var all []Contest
	for id, k := range r.keys {
		if !k.contested {
			continue
		}
		all = append(all, Contest{Field: id.field, Key: id.key, Pool: k.pool, Managers: k.managers, Repairs: atLeast(k.count)})
	}
	slices.SortFunc(all, func(a, b Contest) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pool, b.Pool))
	})
	return all
}

// atLeast rounds a number of repairs down to one that changes each time it has
// doubled. What is reported must not change with every repair.
func atLeast(count int) int {
	least := contestedWithin
	for 2*least <= count {
		least *= 2
	}
	return least
}

// name adds field managers to those that are known. Those that are known stay, so
// that it does not change with who was seen last.
func (k *repaired) name(managers []string) {
	known := k.managers
	for _, manager := range managers {
		if len(known) < maxSetBy && !slices.Contains(known, manager) {
			known = append(slices.Clone(known), manager)
		}
	}
	slices.Sort(known)
	k.managers = known
}

// path of what managed fields say of a key.
func (id repairKey) path() fieldpath.Path {
	switch id.field {
	case Label:
		return labelPath(id.key)
	case Annotation:
		return annotationPath(id.key)
	default:
		return taintsPath
	}
}
