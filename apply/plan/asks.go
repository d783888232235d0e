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

// poolsAsking are what a node asks by each pool whose changes wait for its turn; all at once
// where it is not known by pool, under no name.
func (n *Follower) poolsAsking() []PoolAsks {
	if len(n.AsksOf) == 0 {
		return []PoolAsks{{In: n.Asks}}
	}
	return n.AsksOf
}

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
	displaced  map[string]Displaced
	now        time.Time
	// held are the pools in whose rollouts a node was kept from being drained.
	held map[string]Displaced
}

// turnOf is that of a node; false where it has none that is new. The changes of each pool go by
// the rollouts that they ask: what a weaker pool has to wait for holds up no stronger one.
func (d *turnDecider) turnOf(node *Follower) (turn Turn, is bool) {
	asking := node.poolsAsking()
	going, all := d.going(node, asking), true
	for i, asks := range asking {
		switch going[i] {
		case goesNothing:
			all = false
			continue
		case goesOnly:
			all = false
			turn.Only = append(turn.Only, d.only(node, asks)...)
		case goesAll:
			turn.Free = append(turn.Free, asks.Pool)
		}
		turn.In = append(turn.In, asks.In...)
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

// going decides which changes of each pool may go. Those of an inner pool do not go before what
// waits of a pool around it, and would not use a turn.
func (d *turnDecider) going(node *Follower, asking []PoolAsks) []goes {
	going := make([]goes, len(asking))
	for i, asks := range asking {
		going[i] = d.goes(node, asks)
	}
	stays := func(name string) bool {
		at := slices.IndexFunc(asking, func(asks PoolAsks) bool { return asks.Pool == name })
		return at >= 0 && going[at] == goesNothing || at < 0 && slices.Contains(node.Waits, name)
	}
	for again := true; again; {
		again = false
		for i, asks := range asking {
			if asks.Pool != "" && going[i] != goesNothing && slices.ContainsFunc(d.rollouts.of(asks.Pool).around, stays) {
				going[i], again = goesNothing, true
			}
		}
	}
	return going
}

// goes decides which changes of a pool may go.
func (d *turnDecider) goes(node *Follower, asks PoolAsks) goes {
	if node.Change.At.IsZero() && slices.ContainsFunc(asks.In, node.unavailable) {
		return goesNothing
	}
	may := d.begins(node, asks)
	for _, pool := range asks.In {
		switch {
		case !d.rollouts.full(d.budgets[pool], node, pool, d.now):
		case d.budgets[pool].closed() || !node.unready(pool) || len(d.reverts(node, asks)) == 0:
			return goesNothing
		default: // others that are down keep it from nothing
			may = goesOnly
		}
	}
	if may == goesNothing {
		return may
	}
	if by := d.rollouts.heldFor(node, asks, d.displaced); by != "" {
		d.held[by] = d.displaced[by]
		may = goesOnly
	}
	if may == goesOnly && len(d.only(node, asks)) == 0 {
		return goesNothing
	}
	return may
}

// begins are the changes of a pool that wait for no halt and no wave. What puts back what was
// before waits for neither, and what is expedited not for its wave.
func (d *turnDecider) begins(node *Follower, asks PoolAsks) goes {
	if slices.ContainsFunc(asks.In, d.halted) {
		return goesOnly
	}
	if p := d.progresses[d.rollouts.orders(asks.In)]; p != nil && !p.opens(p.stateFor(d.rollouts.pools[asks.Pool], d.now), node.Name) {
		return goesOnly
	}
	return goesAll
}

func (d *turnDecider) halted(pool string) bool {
	return d.progresses[pool] != nil && d.progresses[pool].halt.Holds()
}

// reverts are the pools of those that ask of which what waits puts back what was before.
func (d *turnDecider) reverts(node *Follower, asks PoolAsks) []string {
	if asks.Pool == "" {
		return node.Reverts
	}
	if slices.Contains(node.Reverts, asks.Pool) {
		return []string{asks.Pool}
	}
	return nil
}

// only are the pools of those that ask of which what waits puts back what was before, or is
// expedited and waits for the end of no halt; sorted.
func (d *turnDecider) only(node *Follower, asks PoolAsks) []string {
	only := slices.Clone(d.reverts(node, asks))
	if orders := d.rollouts.orders(asks.In); orders != "" && !slices.ContainsFunc(asks.In, d.halted) {
		for _, changing := range node.waits {
			if (asks.Pool == "" || asks.Pool == changing.name) && d.rollouts.pools[orders].expedites(changing.change) && !slices.Contains(only, changing.name) {
				only = append(only, changing.name)
			}
		}
	}
	slices.SortFunc(only, strings.Compare)
	return only
}
