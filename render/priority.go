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
		if decided := decide(claimants); decided.by != nil {
			settled[key] = decided.want(claimants, func(p *pool) string { return keys(p)[key] }, lists)
		}
	}
	return settled
}

// want is what the pools want that decided on a key. Among equals the oldest has decided: a
// new pool takes nothing from an existing one.
func (d decision) want(claimants []*pool, value func(*pool) string, lists *sharedNames) Want {
	wanted := value(d.by)
	winner := d.by
	want := Want{Value: wanted}
	heard, overridden := d.heard(claimants), d.overridden(claimants)
	for _, p := range heard {
		switch equal := p.priority == d.by.priority; {
		case equal && value(p) != wanted:
			want.Younger = append(want.Younger, Claim{Pool: p.name, Value: value(p)})
		case equal && furtherThan(p, winner) && !owes(p, overridden):
			winner = p
		}
	}
	if want.Younger != nil {
		want.Oldest = d.by.name
	}
	var agreeing []string
	for _, p := range heard {
		if p != winner && value(p) == wanted {
			agreeing = append(agreeing, p.name)
		}
	}
	want.Pool, want.Policy, want.Rank, want.Agreeing = winner.name, winner.policy, d.by.rank, lists.share(agreeing)
	want.Contenders, want.Unheard = lists.share(namesOf(d.contenders)), lists.share(namesOf(d.unheard(claimants)))
	if want.Unheard != nil {
		want.Third = d.third.name
	}
	return want
}

// furtherThan reports whether p, of two pools that agree, is named as the owner
// of the key: the one whose policy goes further, then the first by name. Age
// makes no difference, so that pools which agree may be created in any order.
func furtherThan(p, other *pool) bool {
	return cmp.Or(cmp.Compare(reach(other.policy), reach(p.policy)), strings.Compare(p.name, other.name)) < 0
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
