package render

import (
	"cmp"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// settle decides, key by key, which of the pools of a node wins. The pools must
// be sorted by name; so are the lists in the result. Its cost is linear in the
// total number of keys that the pools want, for each level in which pools within each
// other want the same key.
func settle[K comparable](members []*pool, keys func(*pool) map[K]string, lists *sharedNames) map[K]Want {
	claims := map[K][]*pool{}
	for _, member := range members {
		for key := range keys(member) {
			claims[key] = append(claims[key], member)
		}
	}
	settled := make(map[K]Want, len(claims))
	for key, claimants := range claims {
		settled[key] = settleKey(claimants, func(p *pool) string { return keys(p)[key] }, lists)
	}
	return settled
}

// settleKey decides between the pools that want a value for one key. A pool
// overrides the pools that enclose it, regardless of priority; among the rest
// the highest priority wins, and among equals the oldest: a new pool takes
// nothing from an existing one.
func settleKey(claimants []*pool, value func(*pool) string, lists *sharedNames) Want {
	all := claimants
	claimants, unheard := heard(all)
	strongest := strongestOf(claimants)
	wanted := value(strongest)
	winner := strongest
	want := Want{Value: wanted}
	for _, p := range claimants {
		switch equal := p.priority == strongest.priority; {
		case equal && value(p) != wanted:
			want.Younger = append(want.Younger, Claim{Pool: p.name, Value: value(p)})
		case equal && furtherThan(p, winner):
			winner = p
		}
	}
	if want.Younger != nil {
		want.Oldest = strongest.name
	}
	var agreeing []string
	for _, p := range claimants {
		if p != winner && value(p) == wanted {
			agreeing = append(agreeing, p.name)
		}
	}
	want.Pool, want.Policy, want.Rank, want.Agreeing = winner.name, winner.policy, strongest.rank, lists.share(agreeing)
	want.Overrides, want.Unheard = lists.share(overriddenBy(strongest, all)), lists.share(namesOf(unheard))
	return want
}

// furtherThan reports whether p, of two pools that agree, is named as the owner
// of the key: the one whose policy goes further, then the first by name. Age
// makes no difference, so that pools which agree may be created in any order.
func furtherThan(p, other *pool) bool {
	return cmp.Or(cmp.Compare(reach(other.policy), reach(p.policy)), strings.Compare(p.name, other.name)) < 0
}

// heard returns the pools between which strength decides, those that enclose none of
// the others, and the pools that are too weak to override what is around them. A pool overrides the pools around it at its own strength: where it is
// weaker than a third one that these are stronger than, it is not heard, and they are.
// Otherwise the third one would get by the override what it would not get without.
func heard(claimants []*pool) (heard, unheard []*pool) {
	for {
		overridden := overriddenOf(claimants)
		if len(overridden) == 0 {
			return claimants, unheard
		}
		inner := slices.DeleteFunc(slices.Clone(claimants), func(p *pool) bool { return overridden[p] })
		third := strongestOf(inner)
		beaten := func(p *pool) bool { // with the override of a pool that is stronger than the third one
			return !overridden[p] && slices.ContainsFunc(p.enclosing, func(around *pool) bool {
				return overridden[around] && around.rank < third.rank && !slices.Contains(third.enclosing, around)
			})
		}
		if !slices.ContainsFunc(inner, beaten) {
			return inner, unheard
		}
		for _, p := range inner {
			if beaten(p) {
				unheard = append(unheard, p)
			}
		}
		claimants = slices.DeleteFunc(slices.Clone(claimants), beaten)
	}
}

// overriddenOf returns those that enclose any of the others.
func overriddenOf(claimants []*pool) map[*pool]bool {
	var enclosing map[*pool]bool
	for _, p := range claimants {
		for _, around := range p.enclosing {
			if enclosing == nil {
				enclosing = map[*pool]bool{}
			}
			enclosing[around] = true
		}
	}
	if enclosing == nil {
		return nil
	}
	overridden := map[*pool]bool{}
	for _, p := range claimants {
		if enclosing[p] {
			overridden[p] = true
		}
	}
	return overridden
}

// overriddenBy returns the names of those that enclose a pool, the innermost first.
func overriddenBy(p *pool, claimants []*pool) (names []string) {
	for _, around := range p.enclosing {
		if slices.Contains(claimants, around) {
			names = append(names, around.name)
		}
	}
	return names
}

func strongestOf(pools []*pool) *pool {
	return slices.MinFunc(pools, func(a, b *pool) int { return cmp.Compare(a.rank, b.rank) })
}

// compareStrength orders pools by strength, the strongest first: by priority,
// then by age, then by name.
func compareStrength(a, b *pool) int { return CompareStrength(a.definition, b.definition) }

// CompareStrength orders pools by strength, the strongest first: by priority, then by
// age, then by name.
func CompareStrength(a, b *v1.NodePool) int {
	return cmp.Or(
		cmp.Compare(b.Spec.Priority, a.Spec.Priority),
		compareAge(a, b),
		strings.Compare(a.Name, b.Name),
	)
}

// compareAge orders the older pool first. A pool that is not in the cluster yet
// has no creation time, and is younger than all others.
func compareAge(a, b *v1.NodePool) int {
	switch aNew, bNew := a.CreationTimestamp.IsZero(), b.CreationTimestamp.IsZero(); {
	case aNew && bNew:
		return 0
	case aNew:
		return 1
	case bNew:
		return -1
	}
	return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
}

// reach returns how far a policy goes against a value that somebody else has set.
func reach(policy v1.ConflictPolicy) int {
	switch policy {
	case v1.Adopt:
		return 2
	case v1.TakeOver:
		return 1
	default:
		return 0
	}
}

// sharedNames interns lists of names: pools that agree on one key mostly agree on others.
type sharedNames struct {
	known map[string][]string
	// names is the number of names in all lists.
	names int
}

func (s *sharedNames) share(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	// Lists that begin and end alike are mostly the same.
	key := names[0] + "/" + names[len(names)-1]
	if known := s.known[key]; slices.Equal(known, names) {
		return known
	}
	names = slices.Clip(names)
	s.known[key] = names
	s.names += len(names)
	return names
}
