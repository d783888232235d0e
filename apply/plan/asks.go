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

// askGroup are pools whose changes ask the same rollouts on a node.
type askGroup struct {
	in    []string
	pools []string // nil for all that wait
}

// has reports whether a pool is of the group.
func (g *askGroup) has(pool string) bool { return g.pools == nil || slices.Contains(g.pools, pool) }

// among are those of some pools that are of the group.
func (g *askGroup) among(pools []string) []string {
	return slices.DeleteFunc(slices.Clone(pools), func(pool string) bool { return !g.has(pool) })
}

// askGroups are the pools whose changes wait for the turn of the node, by what they ask.
func (n *Follower) askGroups() []askGroup {
	if len(n.AsksOf) == 0 {
		return []askGroup{{in: n.Asks}}
	}
	var groups []askGroup
	for _, asks := range n.AsksOf {
		at := slices.IndexFunc(groups, func(g askGroup) bool { return slices.Equal(g.in, asks.In) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, askGroup{in: asks.In})
		}
		groups[at].pools = append(groups[at].pools, asks.Pool)
	}
	return groups
}

// going is which changes of a group may go: all of them, or those of the pools in free, and
// of those in only what puts back what was before, or is expedited.
type going struct {
	all        bool
	free, only []string
}

func (g going) none() bool { return !g.all && len(g.free)+len(g.only) == 0 }

// has reports whether any changes of a pool of the group may go.
func (g going) has(pool string) bool {
	return g.all || slices.Contains(g.free, pool) || slices.Contains(g.only, pool)
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

// turnOf is that of a node; false where it has none that is new. Each group of changes goes
// by the rollouts that it asks: what a weaker pool has to wait for holds up no stronger one.
func (d *turnDecider) turnOf(node *Follower) (turn Turn, is bool) {
	all := true
	for _, g := range node.askGroups() {
		goes := d.goes(node, g)
		all = all && goes.all
		if goes.none() {
			continue
		}
		turn.In, turn.Only = append(turn.In, g.in...), append(turn.Only, goes.only...)
		if goes.all {
			goes.free = g.pools
		}
		turn.Free = append(turn.Free, goes.free...)
	}
	if all {
		return Turn{In: node.Asks}, true
	}
	turn.Restricted = true
	for _, names := range []*[]string{&turn.In, &turn.Free, &turn.Only} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return turn, len(turn.In) > 0 && !containsAll(node.Begun, turn.In)
}

// goes decides which changes of a group may go.
func (d *turnDecider) goes(node *Follower, g askGroup) going {
	if node.Change.At.IsZero() && slices.ContainsFunc(g.in, node.unavailable) {
		return going{}
	}
	goes := d.begins(node, g)
	full := func(pool string) bool { return d.rollouts.full(d.budgets[pool], node, pool, d.now) }
	for _, pool := range g.in {
		switch {
		case !full(pool):
		case d.budgets[pool].closed() || !node.unready(pool):
			return going{}
		default: // others that are down keep it from nothing
			goes = going{only: g.among(node.Reverts)}
		}
	}
	if by, rest := d.rollouts.heldFor(node, g, d.displaced, goes); by != "" {
		d.held[by] = d.displaced[by]
		goes = going{only: rest}
	}
	return goes
}

// begins are the changes of a group that wait for no halt and no wave. What puts back what was
// before waits for neither, and what is expedited not for its wave. Of weaker pools than that
// with the waves the changes wait for those of all, and its own for its own alone.
func (d *turnDecider) begins(node *Follower, g askGroup) going {
	reverts := going{only: g.among(node.Reverts)}
	if slices.ContainsFunc(g.in, func(pool string) bool { return d.progresses[pool] != nil && d.progresses[pool].halt.Holds() }) {
		return reverts
	}
	orders := d.rollouts.orders(g.in)
	p := d.progresses[orders]
	if p.open(node.Name) {
		return going{all: true}
	}
	goes := reverts
	if slices.Contains(g.pools, orders) && p.opensOwn(node.Name) && !d.waitsAround(node, orders) {
		goes.free = []string{orders}
	}
	for _, changing := range node.waits {
		if g.has(changing.name) && d.rollouts.pools[orders].expedites(changing.change) && !slices.Contains(goes.only, changing.name) {
			goes.only = append(goes.only, changing.name)
		}
	}
	slices.SortFunc(goes.only, strings.Compare)
	return goes
}

// waitsAround reports whether changes of a pool around one wait on the node: those of the inner
// one do not go before them.
func (d *turnDecider) waitsAround(node *Follower, pool string) bool {
	around := d.rollouts.of(pool).around
	return slices.ContainsFunc(node.Waits, func(name string) bool { return slices.Contains(around, name) })
}
