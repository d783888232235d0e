package render

import (
	"cmp"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// settle gives each key to the first pool by rank that wants it. The pools must be sorted by
// name; so are the lists in the result. Its cost is linear in the total number of keys that
// the pools want.
func settle[K comparable](members []*pool, keys func(*pool) map[K]string, lists *sharedNames) map[K]Want {
	first := map[K]*pool{}
	for _, member := range members {
		for key := range keys(member) {
			if known := first[key]; known == nil || member.rank < known.rank {
				first[key] = member
			}
		}
	}
	settled, agreeing := make(map[K]Want, len(first)), map[K][]string{}
	for key, winner := range first {
		settled[key] = Want{Value: keys(winner)[key], Pool: winner.name, Policy: winner.policy, Rank: winner.rank}
	}
	for _, member := range members {
		for key, value := range keys(member) {
			switch want := settled[key]; {
			case member == first[key]:
			case value == want.Value:
				agreeing[key] = append(agreeing[key], member.name)
			case member.priority == first[key].priority:
				want.Younger = append(want.Younger, Claim{Pool: member.name, Value: value})
				settled[key] = want
			}
		}
	}
	for key, names := range agreeing {
		want := settled[key]
		want.Agreeing = lists.share(names)
		settled[key] = want
	}
	return settled
}

// CompareRank orders pools by rank: by priority, then by age, then by name.
func CompareRank(a, b *v1.NodePool) int {
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
