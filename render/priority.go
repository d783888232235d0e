package render

import (
	"cmp"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// settle decides, key by key, which of the pools that a node is in has its way.
// The pools must be sorted by name; so is what comes of them.
func settle[K comparable](members []*pool, keys func(*pool) map[K]string) map[K]Want {
	settled := map[K]Want{}
	for i, member := range members {
		for key := range keys(member) {
			if _, done := settled[key]; !done {
				// None of the pools before says anything of the key.
				settled[key] = settleKey(key, members[i:], keys)
			}
		}
	}
	return settled
}

// settleKey decides between the pools that say something of one key. A pool
// goes before the pools that enclose it, whatever their priorities, and they are
// then out of the question; among the rest the highest priority wins; among
// equals that disagree nobody does.
//
// So a pool takes a key over from its parent at its own priority: a third pool
// that is weaker than the parent and stronger than the child then wins.
func settleKey[K comparable](key K, members []*pool, keys func(*pool) map[K]string) Want {
	claims := func(p *pool) bool { _, found := keys(p)[key]; return found }
	var claimants []*pool
	for _, member := range members {
		if claims(member) && !overridden(member, members, claims) {
			claimants = append(claimants, member)
		}
	}
	top := strongest(claimants)
	winner := slices.MaxFunc(top, func(a, b *pool) int { return cmp.Compare(reach(a.policy), reach(b.policy)) })
	want := Want{Value: keys(winner)[key], Pool: winner.name, Policy: winner.policy}
	agrees := func(p *pool) bool { return keys(p)[key] == want.Value }
	if disagrees := func(p *pool) bool { return !agrees(p) }; slices.ContainsFunc(top, disagrees) {
		for _, equal := range top {
			want.Claims = append(want.Claims, Claim{Pool: equal.name, Value: keys(equal)[key]})
		}
		return want
	}
	for _, claimant := range claimants {
		if claimant != winner && agrees(claimant) {
			want.Agreeing = append(want.Agreeing, claimant.name)
		}
	}
	return want
}

// overridden tells whether a pool within this one says something of the key.
func overridden(p *pool, members []*pool, claims func(*pool) bool) bool {
	return slices.ContainsFunc(members, func(other *pool) bool {
		return claims(other) && slices.Contains(other.enclosing, p)
	})
}

// strongest returns the pools of the highest priority, in their order.
func strongest(pools []*pool) []*pool {
	highest := slices.MaxFunc(pools, func(a, b *pool) int { return cmp.Compare(a.priority, b.priority) }).priority
	var top []*pool
	for _, p := range pools {
		if p.priority == highest {
			top = append(top, p)
		}
	}
	return top
}

// reach is how far a policy goes against a value that somebody else has set.
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
