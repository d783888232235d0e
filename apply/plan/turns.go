package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Follower is a node as far as turns depend on it.
type Follower struct {
	Name string
	// Pools are those that the node is in, or carries keys of.
	Pools []string
	// Left are those that it was in by what all nodes have followed last, and has left.
	Left []string
	// Asks are the pools whose changes wait for its turn.
	Asks []Ask
	// Waits are the pools whose changes wait on the node, be it for a window; Selected are
	// the waves that it may be in, by pool, a bit for each.
	Waits    []string
	Selected map[string]uint64
	// Begun are the pools whose changes have its turn already. Busy reports that it had one, be it by
	// other pools, and that it is not known yet what came of it.
	Begun []string
	Busy  bool
	// Unready reports that it is not ready, and Unavailable that it is not, or is cordoned.
	// Stuck reports that it stays as it is until somebody acts: no later wave begins
	// meanwhile.
	Unready, Unavailable, Stuck bool
	// Unmet is what it lacks of the conditions that pools name, by pool, as "has condition
	// GPUHealthy=False": in their rollouts, it counts as not ready.
	Unmet map[string]string
	// Change is the last one that it has followed in its turn.
	Change LastChange
	// Zone that it is in, and Created when it was made.
	Zone    string
	Created time.Time

	// waits are the pools of Waits, and those for which it is drained; limits are those of its pools in
	// which it takes turns, the strongest first.
	waits, limits []*rollout
}

// Limited reports whether nodes take turns in one of the rollouts.
func (r *Rollouts) Limited() bool {
	if r == nil {
		return false
	}
	for _, one := range r.pools {
		if one.limits() {
			return true
		}
	}
	return false
}

// Turns are the nodes that may begin to follow their pools.
type Turns struct {
	// Nodes has the nodes whose turn it is, each with the pools whose changes may go.
	Nodes map[string]Turn
	// Waves are how far the waves are of the pools that have some, and of which not all
	// nodes have followed.
	Waves map[string]*WaveState
	// Halts are those of the pools that are halted, or were and are resumed.
	Halts map[string]*Halt
	// Stuck are the pools of which the next step takes too long.
	Stuck map[string]Stuck
	// Unavailable are the nodes that use up the budgets of the pools in which changes wait.
	Unavailable map[string]Unavailable
	// Counts are how many nodes are on their way, of the pools in which nodes take turns. They
	// are not known while nothing waits in any.
	Counts map[string]RolloutNodes
	// Latches are which waves are over, of the pools in which changes wait.
	Latches Latches
	// Again is when it has to be decided anew though nothing happens; zero where it has not.
	Again time.Time
}

// Turns decides which nodes may begin to follow their pools at a time.
//
// The changes of a pool may go on a node when no gate of theirs is closed there, in all rollouts in
// which they wait: one more node may be unavailable, no halt holds, and in the strongest of the
// rollouts that has waves it is the turn of its wave. Nodes that are unavailable
// already count in all their pools, whatever has made them so, and do not begin; but for
// those that have followed a change before: what they wait for may be what mends them. Changes that go
// back to what was before, and expedited ones, wait for no wave, and the former for no end of a halt.
// The order is that of the names, or of the zones and the names.
//
// Halts are those that were there before. Settled reports that all nodes are known as they
// are by these pools: before, nobody knows which are in which, and it is the turn of none.
func (r *Rollouts) Turns(nodes []Follower, halts map[string]*Halt, now time.Time, settled bool) Turns {
	turns := Turns{Nodes: map[string]Turn{}, Waves: map[string]*WaveState{}, Halts: map[string]*Halt{}, Stuck: map[string]Stuck{}, Unavailable: map[string]Unavailable{}, Counts: map[string]RolloutNodes{}, Latches: Latches{}}
	if !settled {
		turns.Halts = halts
		if r != nil {
			turns.Latches = r.latches
		}
		return turns
	}
	if r == nil || !slices.ContainsFunc(nodes, func(node Follower) bool { return len(node.Waits)+len(node.Asks)+len(node.Change.Drains) > 0 }) {
		turns.Halts = r.Standing(halts)
		return turns
	}
	nodes = r.sorted(nodes)
	members := r.membersOf(nodes)
	budgets, progresses := r.budgets(nodes, members, now), map[string]*progress{}
	for pool, of := range members {
		progresses[pool] = r.progressOf(r.pools[pool], of, halts[pool], now)
		if unavailable := unavailableOf(r.pools[pool], of, budgets[pool], now); len(progresses[pool].waiting) > 0 && !unavailable.None() {
			turns.Unavailable[pool] = unavailable
		}
	}
	g := gates{rollouts: r, budgets: budgets, progresses: progresses, now: now}
	for _, node := range r.inOrder(nodes) {
		turn := g.turnOf(node)
		if len(turn) == 0 || containsAll(node.Begun, turn.Pools()) {
			continue
		}
		turns.Nodes[node.Name] = turn
		for _, pool := range node.Pools {
			if b := budgets[pool]; b != nil && !node.occupies(r.pools[pool], now) {
				b.unavailable++
			}
		}
	}
	turns.note(r, halts, progresses, now)
	turns.count(r, members, budgets, progresses, now)
	turns.Again = sooner(turns.Again, r.placesComeFree(nodes, members, now), now)
	return turns
}

// sorted are nodes by name, with the pools that they wait for, and those in which they ask for a turn.
func (r *Rollouts) sorted(nodes []Follower) []Follower {
	order := make([]*Follower, len(nodes)) // which are moved at less cost
	for i := range nodes {
		order[i] = &nodes[i]
	}
	slices.SortFunc(order, func(a, b *Follower) int { return strings.Compare(a.Name, b.Name) })
	sorted := make([]Follower, len(nodes))
	for i, node := range order {
		sorted[i] = *node
		if len(node.Asks) > 0 {
			sorted[i].limits = r.limiting(node.Pools)
		}
		sorted[i].waits = make([]*rollout, 0, len(node.Waits)+len(node.Change.Drains))
		for _, names := range [][]string{node.Waits, node.Change.Drained()} {
			for _, name := range names {
				if one := r.pools[name]; one != nil {
					sorted[i].waits = append(sorted[i].waits, one)
				}
			}
		}
	}
	return sorted
}

// note notes how far rollouts are. Where nodes take no turns at the moment, halts stand as
// before.
func (t *Turns) note(r *Rollouts, halts map[string]*Halt, progresses map[string]*progress, now time.Time) {
	for pool, halt := range r.Standing(halts) {
		if progresses[pool] == nil {
			t.Halts[pool] = halt
		}
	}
	for pool, of := range progresses {
		if state := of.shown(); state != nil {
			t.Waves[pool] = state
		}
		for _, state := range of.states {
			if state != nil {
				t.Again = sooner(t.Again, state.Soaks, now)
			}
		}
		if len(of.next) > 0 {
			t.Latches[pool] = of.next
		}
		if of.halt != nil {
			t.Halts[pool] = of.halt
		}
		t.Again = sooner(t.Again, of.deadline, now)
		if !of.deadline.IsZero() && !now.Before(of.deadline) {
			t.Stuck[pool] = Stuck{of.since, r.pools[pool].deadline}
		}
	}
}

// placesComeFree is when the first node no longer counts as unavailable for what it has
// followed, in a pool that it is in or has left; zero where none does.
func (r *Rollouts) placesComeFree(nodes []Follower, members map[string][]*Follower, now time.Time) (first time.Time) {
	for pool, of := range members {
		for _, node := range of {
			first = sooner(first, node.Change.At.Add(r.pools[pool].minReady), now)
		}
	}
	for i := range nodes {
		for pool, followed := range nodes[i].Change.Pools {
			if one := r.pools[pool]; one != nil && nodes[i].isLeaving(one, now) {
				first = sooner(first, followed.At.Add(one.minReady), now)
			}
		}
	}
	return first
}

// inOrder are nodes in the order in which it can be their turn. They are sorted by name.
func (r *Rollouts) inOrder(nodes []Follower) []*Follower {
	ordered := make([]*Follower, len(nodes))
	for i := range nodes {
		ordered[i] = &nodes[i]
	}
	zones := map[*Follower]string{}
	for _, node := range ordered {
		byZone := func(one *rollout) bool {
			return one.byZone && slices.ContainsFunc(node.Asks, func(ask Ask) bool { return one.governs(r.of(ask.Pool)) })
		}
		if slices.ContainsFunc(node.limits, byZone) {
			zones[node] = node.Zone
		}
	}
	if len(zones) > 0 {
		slices.SortStableFunc(ordered, func(a, b *Follower) int { return strings.Compare(zones[a], zones[b]) })
	}
	return ordered
}

// membersOf are the nodes of the pools in whose rollouts nodes take turns, by pool, in the
// order of the nodes: those that have left a pool since all nodes followed it are among them.
func (r *Rollouts) membersOf(nodes []Follower) map[string][]*Follower {
	members := map[string][]*Follower{}
	for i := range nodes {
		for _, pool := range slices.Concat(nodes[i].Pools, nodes[i].Left) {
			if one := r.pools[pool]; one != nil && one.limits() {
				members[pool] = append(members[pool], &nodes[i])
			}
		}
	}
	return members
}

// sooner is the earlier of two times, where the zero time, and what is not after now, is
// none.
func sooner(a, b, now time.Time) time.Time {
	if !b.After(now) || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// occupies reports whether a node counts as unavailable in a rollout.
func (n *Follower) occupies(r *rollout, now time.Time) bool {
	return n.unavailable(r.name) || n.follows(r, now)
}

// follows reports whether a node is on its way to follow a change, or was less than minReady
// ago.
func (n *Follower) follows(r *rollout, now time.Time) bool {
	return n.Busy || len(n.Change.Drains) > 0 || !n.Change.At.IsZero() && now.Before(n.Change.At.Add(r.minReady))
}

// isLeaving reports whether a node has left a pool less than minReady ago.
func (n *Follower) isLeaving(r *rollout, now time.Time) bool {
	followed, has := n.Change.Pools[r.name]
	return has && r.limits() && !slices.Contains(n.Pools, r.name) && now.Before(followed.At.Add(r.minReady))
}

// budget is how many nodes of a pool are unavailable, and may be.
type budget struct{ unavailable, most int }

// closed reports whether a budget lets no node begin, however few are unavailable; nil is
// that of a pool in which nodes take no turns any more.
func (b *budget) closed() bool { return b == nil || b.most == 0 }

// budgets are those of the pools in which nodes take turns.
func (r *Rollouts) budgets(nodes []Follower, members map[string][]*Follower, now time.Time) map[string]*budget {
	budgets := make(map[string]*budget, len(members))
	for pool, of := range members {
		one, b := r.pools[pool], &budget{most: len(of)}
		for _, node := range of {
			if !node.left(pool) && node.occupies(one, now) {
				b.unavailable++
			}
		}
		if one.limit != nil {
			b.most = atMostOf(*one.limit, len(of))
		}
		budgets[pool] = b
	}
	for i := range nodes {
		for pool := range nodes[i].Change.Pools {
			if b := budgets[pool]; b != nil && nodes[i].isLeaving(r.pools[pool], now) {
				b.unavailable++
			}
		}
	}
	return budgets
}

// atMostOf is how many of a number of nodes a limit allows: a percentage is rounded down, and is
// at least 1 unless it is 0%.
func atMostOf(limit intstr.IntOrString, nodes int) int {
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, nodes, false)
	if err != nil || most < 0 {
		return 0 // the schema has refused it
	}
	if most == 0 && limit.Type == intstr.String && strings.Trim(limit.StrVal, "0%") != "" {
		return 1
	}
	return most
}
