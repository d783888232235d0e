package plan

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/render"
)

// KeyConflict is a key of a node that pools want and do not get. It has all of
// these pools, and shares them with the plans of the nodes that are in the same
// ones: hundreds of pools may want a key of thousands of nodes.
type KeyConflict struct {
	// reason has what is the same for all pools, with none of them named.
	reason Conflict
	// denied reports that the key stays as it is: the pools that agree on the value
	// do not get it. Else only those do not that are younger than they are.
	denied bool
	want   render.Want
}

// Field and Key are those of the conflict.
func (c KeyConflict) Field() Field { return c.reason.Field }

// Key of the label or annotation; key:effect of a taint.
func (c KeyConflict) Key() string { return c.reason.Key }

// All are the conflicts of the pools that do not get the key, sorted by pool.
func (c KeyConflict) All() iter.Seq[Conflict] {
	return func(yield func(Conflict) bool) {
		for claim, younger := range c.claims() {
			if !yield(c.of(claim, younger)) {
				return
			}
		}
	}
}

// First are the first conflicts of All, at most so many, and how many there are
// besides.
func (c KeyConflict) First(most int) (first []Conflict, more int) {
	for claim, younger := range c.claims() {
		if len(first) == most {
			more++
			continue
		}
		first = append(first, c.of(claim, younger))
	}
	return first, more
}

// Of is the conflict of one pool, if it has one.
func (c KeyConflict) Of(pool string) (Conflict, bool) {
	if c.denied {
		_, agrees := slices.BinarySearch(c.want.Agreeing, pool)
		if agrees || pool == c.want.Pool {
			return c.of(render.Claim{Pool: pool, Value: c.want.Value}, false), true
		}
	}
	i, younger := slices.BinarySearchFunc(c.want.Younger, pool, func(claim render.Claim, name string) int { return strings.Compare(claim.Pool, name) })
	if younger && !c.has(c.want.Younger[i]) {
		return c.of(c.want.Younger[i], true), true
	}
	return Conflict{}, false
}

func (c KeyConflict) of(claim render.Claim, younger bool) Conflict {
	conflict := c.reason
	conflict.Pool, conflict.Want = claim.Pool, claim.Value
	if younger && !c.denied {
		conflict.Older, conflict.Holder = c.want.Pool, ""
	}
	return conflict
}

// has reports whether a value stands there that a younger pool wants.
func (c KeyConflict) has(claim render.Claim) bool {
	return c.reason.Have != nil && *c.reason.Have == claim.Value
}

// claims are what the pools want that do not get the key, sorted by pool, each
// with whether it is one of the younger.
func (c KeyConflict) claims() iter.Seq2[render.Claim, bool] {
	return func(yield func(render.Claim, bool) bool) {
		agreeing := c.agreeing()
		for _, claim := range c.want.Younger {
			if c.has(claim) {
				continue
			}
			for len(agreeing) > 0 && agreeing[0] < claim.Pool {
				if !yield(render.Claim{Pool: agreeing[0], Value: c.want.Value}, false) {
					return
				}
				agreeing = agreeing[1:]
			}
			if !yield(claim, true) {
				return
			}
		}
		for _, pool := range agreeing {
			if !yield(render.Claim{Pool: pool, Value: c.want.Value}, false) {
				return
			}
		}
	}
}

// agreeing are the pools that agree on the value and do not get it, sorted.
func (c KeyConflict) agreeing() []string {
	if !c.denied {
		return nil
	}
	at, _ := slices.BinarySearch(c.want.Agreeing, c.want.Pool)
	return slices.Insert(slices.Clone(c.want.Agreeing), at, c.want.Pool)
}

// nobody reports whether there is no pool that does not get the key.
func (c KeyConflict) nobody() bool {
	return !c.denied && !slices.ContainsFunc(c.want.Younger, func(claim render.Claim) bool { return !c.has(claim) })
}

// nameSetters fills in who set the value that stands there.
func (c *KeyConflict) nameSetters(managers []string) {
	named := min(len(managers), maxSetBy)
	c.reason.SetBy, c.reason.MoreSetBy = managers[:named:named], len(managers)-named
}

// MarshalJSON writes all conflicts.
func (c KeyConflict) MarshalJSON() ([]byte, error) { return json.Marshal(slices.Collect(c.All())) }

func compareKeyConflicts(a, b KeyConflict) int {
	return cmp.Or(cmp.Compare(a.reason.Field, b.reason.Field), cmp.Compare(a.reason.Key, b.reason.Key))
}

// Equal reports whether two conflicts say the same.
func (c KeyConflict) Equal(other KeyConflict) bool {
	a, b := c.reason, other.reason
	return c.denied == other.denied && a.Field == b.Field && a.Key == b.Key && ptr.Equal(a.Have, b.Have) &&
		slices.Equal(a.SetBy, b.SetBy) && a.MoreSetBy == b.MoreSetBy && a.Holder == b.Holder && a.NoRoom == b.NoRoom &&
		c.want.Value == other.want.Value && c.want.Pool == other.want.Pool &&
		slices.Equal(c.want.Agreeing, other.want.Agreeing) && slices.Equal(c.want.Younger, other.want.Younger)
}

// Digest is as much of the conflicts of a node as is worth keeping: for each pool
// the first of them, and how many there are.
type Digest struct {
	keys   []KeyConflict
	counts map[string]int
}

// perPool is how many conflicts of a pool a Digest has.
const perPool = 3

// NewDigest makes it of the conflicts of a plan.
func NewDigest(conflicts []KeyConflict) Digest {
	if len(conflicts) == 0 {
		return Digest{}
	}
	d := Digest{counts: map[string]int{}}
	for _, conflict := range conflicts {
		keep := false
		for claim := range conflict.claims() {
			d.counts[claim.Pool]++
			keep = keep || d.counts[claim.Pool] <= perPool
		}
		if keep {
			d.keys = append(d.keys, conflict)
		}
	}
	d.keys = slices.Clip(d.keys)
	return d
}

// Count is how many conflicts a pool has on the node.
func (d Digest) Count(pool string) int { return d.counts[pool] }

// Of are the first conflicts of a pool, at most three.
func (d Digest) Of(pool string) []Conflict {
	var own []Conflict
	for _, conflict := range d.keys {
		if len(own) == min(perPool, d.counts[pool]) {
			break
		}
		if found, is := conflict.Of(pool); is {
			own = append(own, found)
		}
	}
	return own
}

// Equal reports whether two of them say the same.
func (d Digest) Equal(other Digest) bool {
	return slices.EqualFunc(d.keys, other.keys, KeyConflict.Equal) && maps.Equal(d.counts, other.counts)
}
