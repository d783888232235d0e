package render

import "slices"

// settle decides, key by key, which of the pools that a node is in has its way.
// The pools must be sorted by name, so that among those that agree the first
// one is named.
func settle[K comparable](members []*pool, keys func(*pool) map[K]string) map[K]Want {
	settled := map[K]Want{}
	for _, member := range members {
		for key := range keys(member) {
			if _, done := settled[key]; !done {
				settled[key] = settleKey(key, members, keys)
			}
		}
	}
	return settled
}

// settleKey decides between the pools that say something of one key. A pool
// goes before the pools that enclose it, whatever their priorities; among the
// rest the highest priority wins; among equals nobody does.
func settleKey[K comparable](key K, members []*pool, keys func(*pool) map[K]string) Want {
	claims := func(p *pool) bool { _, found := keys(p)[key]; return found }
	var equals []*pool
	for _, candidate := range members {
		if !claims(candidate) || overridden(candidate, members, claims) {
			continue
		}
		if len(equals) == 0 || candidate.priority > equals[0].priority {
			equals = append(equals[:0], candidate)
		} else if candidate.priority == equals[0].priority {
			equals = append(equals, candidate)
		}
	}
	winner := equals[0]
	want := Want{Value: keys(winner)[key], Pool: winner.name, Policy: winner.policy}
	if !agree(equals, func(p *pool) string { return keys(p)[key] }) {
		for _, equal := range equals {
			want.Claims = append(want.Claims, Claim{Pool: equal.name, Value: keys(equal)[key]})
		}
	}
	return want
}

func agree(pools []*pool, value func(*pool) string) bool {
	return !slices.ContainsFunc(pools, func(p *pool) bool { return value(p) != value(pools[0]) })
}

// overridden tells whether a pool within this one says something of the key.
func overridden(p *pool, members []*pool, claims func(*pool) bool) bool {
	return slices.ContainsFunc(members, func(other *pool) bool {
		return claims(other) && slices.Contains(other.enclosing, p)
	})
}
