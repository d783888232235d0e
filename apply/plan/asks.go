package plan

import (
	"slices"
	"strings"
	"time"
)

// PoolAsks are the rollouts in which it has to be the turn of a node for the changes of a
// pool.
type PoolAsks struct {
	Pool string
	In   []string // sorted
}

func equalAsks(a, b PoolAsks) bool { return a.Pool == b.Pool && slices.Equal(a.In, b.In) }

// askGroup are pools whose changes ask the same rollouts; all that wait where pools is nil.
type askGroup struct {
	in    []string
	pools []string
	free  bool     // all of the changes may go
	only  []string // or those of these pools
}

// has reports whether a pool is of the group.
func (g *askGroup) has(pool string) bool { return g.pools == nil || slices.Contains(g.pools, pool) }

// askGroups are the changes of a node that wait for its turn, by what they ask: a rollout that
// a weaker pool has to wait for keeps no stronger one waiting.
func (n *Follower) askGroups() []*askGroup {
	var groups []*askGroup
	for _, asks := range n.AsksOf {
		at := slices.IndexFunc(groups, func(g *askGroup) bool { return slices.Equal(g.in, asks.In) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &askGroup{in: asks.In})
		}
		groups[at].pools = append(groups[at].pools, asks.Pool)
	}
	if len(groups) < 2 {
		return []*askGroup{{in: n.Asks}}
	}
	return groups
}

// turnDecider decides whose turn it is, one node after the other.
type turnDecider struct {
	rollouts   *Rollouts
	budgets    map[string]*budget
	progresses map[string]*progress
	displaced  map[string]Displaced
	now        time.Time
	// held are the pools in whose rollouts a node was kept from being drained.
	held map[string]Displaced
}

// turnOf is that of a node; false where it has none, or none that is new.
func (a *turnDecider) turnOf(node *Follower) (turn Turn, is bool) {
	groups := node.askGroups()
	for _, g := range groups {
		a.decide(node, g)
	}
	all := !slices.ContainsFunc(groups, func(g *askGroup) bool { return !g.free })
	if all {
		return Turn{In: node.Asks}, true
	}
	turn.Restricted = true
	for _, g := range groups {
		if !g.free && len(g.only) == 0 {
			continue
		}
		turn.In = append(turn.In, g.in...)
		if g.free {
			turn.Free = append(turn.Free, g.pools...)
		} else {
			turn.Only = append(turn.Only, g.only...)
		}
	}
	for _, names := range []*[]string{&turn.In, &turn.Free, &turn.Only} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return turn, len(turn.In) > 0 && !containsAll(node.Begun, turn.In)
}

// decide decides which changes of a group may go.
func (a *turnDecider) decide(node *Follower, g *askGroup) {
	if node.Change.At.IsZero() && slices.ContainsFunc(g.in, node.unavailable) {
		return
	}
	only, some := a.rollouts.begins(node, g, a.progresses)
	if full := func(pool string) bool { return a.rollouts.full(a.budgets[pool], node, pool, a.now) }; slices.ContainsFunc(g.in, full) {
		if slices.ContainsFunc(g.in, func(pool string) bool { return full(pool) && (a.budgets[pool].closed() || !node.unready(pool)) }) {
			return
		}
		only, some = g.among(node.Reverts), true // others that are down keep it from nothing
	}
	if some && len(only) == 0 {
		return
	}
	if by, rest := a.rollouts.heldFor(node, g, a.displaced, only, some); by != "" {
		a.held[by] = a.displaced[by]
		only, some = rest, true
	}
	g.free, g.only = !some, only
}

// among are those of some pools that are of the group, sorted.
func (g *askGroup) among(pools []string) []string {
	found := slices.DeleteFunc(slices.Clone(pools), func(pool string) bool { return !g.has(pool) })
	slices.SortFunc(found, strings.Compare)
	return found
}
