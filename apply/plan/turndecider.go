package plan

import (
	"slices"
	"time"
)

// PoolAsks are the rollouts in which it has to be the turn of a node for the changes of a
// pool.
type PoolAsks struct {
	Pool string
	In   []string // sorted
}

func equalAsks(a, b PoolAsks) bool { return a.Pool == b.Pool && slices.Equal(a.In, b.In) }

// goes is which changes of a pool may go: all, none, or those that put back what was before,
// and those that are expedited.
type goes int

const (
	goesNothing goes = iota
	goesOnly
	goesAll
)

// turnDecider decides whose turn it is, one node after the other.
type turnDecider struct {
	rollouts   *Rollouts
	budgets    map[string]*budget
	progresses map[string]*progress
	now        time.Time
}

// turnOf is that of a node; false where it has none that is new. The changes of each pool go by
// the rollouts that they ask: what a weaker pool has to wait for holds up no stronger one.
func (d *turnDecider) turnOf(node *Follower) (turn Turn, is bool) {
	for i, may := range d.going(node) {
		asks := node.AsksOf[i]
		switch may {
		case goesNothing:
			continue
		case goesOnly:
			turn.Only = append(turn.Only, asks.Pool)
		case goesAll:
			turn.Free = append(turn.Free, asks.Pool)
		}
		turn.In = append(turn.In, asks.In...)
	}
	if len(turn.Free) > 0 && len(turn.Free) == len(node.AsksOf) {
		return Turn{In: node.Asks}, true
	}
	turn.Restricted = true
	slices.Sort(turn.In)
	turn.In = slices.Compact(turn.In)
	return turn, len(turn.In) > 0 && !containsAll(node.Begun, turn.In)
}

// going decides which changes may go, of each pool that asks. Those of an inner pool do not go
// before what waits of a pool around it, and would not use a turn.
func (d *turnDecider) going(node *Follower) []goes {
	going := make([]goes, len(node.AsksOf))
	for i, asks := range node.AsksOf {
		going[i] = d.goes(node, asks)
	}
	stays := func(name string) bool {
		at := slices.IndexFunc(node.AsksOf, func(asks PoolAsks) bool { return asks.Pool == name })
		return at >= 0 && going[at] == goesNothing || at < 0 && slices.Contains(node.Waits, name)
	}
	for again := true; again; {
		again = false
		for i, asks := range node.AsksOf {
			if going[i] != goesNothing && slices.ContainsFunc(d.rollouts.of(asks.Pool).around, stays) {
				going[i], again = goesNothing, true
			}
		}
	}
	return going
}

// goes decides which changes of a pool may go: it waits for budgets, for the end of halts,
// and for its wave.
func (d *turnDecider) goes(node *Follower, asks PoolAsks) goes {
	if node.Change.At.IsZero() && slices.ContainsFunc(asks.In, node.unavailable) {
		return goesNothing
	}
	reverts, may := slices.Contains(node.Reverts, asks.Pool), goesAll
	for _, pool := range asks.In {
		switch {
		case !d.rollouts.full(d.budgets[pool], node, pool, d.now):
		case d.budgets[pool].closed() || !node.unready(pool) || !reverts:
			return goesNothing
		default: // others that are down keep it from nothing
			may = goesOnly
		}
	}
	halted := slices.ContainsFunc(asks.In, d.halted)
	if halted || !d.inWave(node, asks) {
		may = goesOnly
	}
	if may == goesOnly && !reverts && (halted || !d.expedited(asks)) {
		return goesNothing
	}
	return may
}

func (d *turnDecider) halted(pool string) bool {
	return d.progresses[pool] != nil && d.progresses[pool].halt.Holds()
}

// inWave reports whether it is the turn of the wave of the node.
func (d *turnDecider) inWave(node *Follower, asks PoolAsks) bool {
	p := d.progresses[d.rollouts.orders(asks.In)]
	return p == nil || p.opens(p.stateFor(d.rollouts.pools[asks.Pool], d.now), node.Name)
}

// expedited reports whether the changes of a pool wait for no wave.
func (d *turnDecider) expedited(asks PoolAsks) bool {
	orders := d.rollouts.pools[d.rollouts.orders(asks.In)]
	return orders != nil && orders.expedites(d.rollouts.of(asks.Pool).change)
}
