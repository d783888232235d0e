package plan

import (
	"slices"
	"time"
)

// gates are those of the rollouts in which nodes take turns, while it is decided whose turn it is,
// one node after the other.
type gates struct {
	rollouts   *Rollouts
	budgets    map[string]*budget
	progresses map[string]*progress
	now        time.Time
	// in is room for the rollouts of one change.
	in []*rollout
}

// turnOf is that of a node: those of its changes go of which no gate is closed, nor one of what they
// need, as they would not use a turn.
func (g *gates) turnOf(node *Follower) (turn Turn) {
	for _, ask := range node.Asks {
		if open, back := g.open(node, ask); open {
			ask.Reverts = back
			turn = append(turn, ask)
		}
	}
	goes := func(need string) bool {
		return slices.ContainsFunc(turn, func(ask Ask) bool { return ask.Pool == need })
	}
	for before := -1; before != len(turn); {
		before = len(turn)
		turn = slices.DeleteFunc(turn, func(ask Ask) bool {
			return slices.ContainsFunc(ask.Needs, func(need string) bool { return !goes(need) })
		})
	}
	return turn
}

// open reports whether the gates of a change are open on a node: budgets, halts and waves. What goes
// back to what was before waits for no halt and no wave, and then nothing else may go in its place;
// what is expedited for no wave.
func (g *gates) open(node *Follower, ask Ask) (open, back bool) {
	g.in = limitsOn(node.limits, g.rollouts.of(ask.Pool), g.in[:0])
	in := g.in
	if len(in) == 0 { // its rollouts are others by now
		return false, false
	}
	if node.Change.At.IsZero() && slices.ContainsFunc(in, func(one *rollout) bool { return node.unavailable(one.name) }) {
		return false, false
	}
	for _, one := range in {
		b := g.budgets[one.name]
		switch {
		case !g.full(b, node, one):
		case b.closed() || !node.unready(one.name) || !ask.Reverts:
			return false, false
		default: // others that are down keep it from nothing
			back = true
		}
	}
	halted := slices.ContainsFunc(in, func(one *rollout) bool { return g.progresses[one.name] != nil && g.progresses[one.name].halt.Holds() })
	if halted || !g.inWave(node, ask.Pool, in) {
		return ask.Reverts, true
	}
	return true, back
}

// inWave reports whether it is the turn of the wave of a node, in the strongest of some rollouts that
// has waves: waves of several pools could wait for each other.
func (g *gates) inWave(node *Follower, pool string, in []*rollout) bool {
	orders := ordering(in)
	if orders == nil || orders.expedites(g.rollouts.of(pool).change) {
		return true
	}
	p := g.progresses[orders.name]
	return p == nil || p.opens(p.stateFor(g.rollouts.pools[pool], g.now), node.Name)
}

// ordering is the first of some rollouts that has waves; nil where none has.
func ordering(rollouts []*rollout) *rollout {
	if at := slices.IndexFunc(rollouts, func(one *rollout) bool { return len(one.waves) > 0 }); at >= 0 {
		return rollouts[at]
	}
	return nil
}

// limitsOn adds the rollouts in which it has to be the turn of a node for the changes of a pool, of those
// in which it takes turns; in their order.
func limitsOn(limiting []*rollout, changing *rollout, in []*rollout) []*rollout {
	for _, one := range limiting {
		if one.governs(changing) {
			in = append(in, one)
		}
	}
	return in
}

// full reports whether the budget of a pool lets a node not begin; nil is a pool in which
// nodes take no turns any more.
func (g *gates) full(b *budget, node *Follower, pool *rollout) bool {
	if b == nil {
		return true
	}
	one := 1
	if node.occupies(pool, g.now) {
		one = 0 // it counts already
	}
	return b.unavailable+one > b.most
}
