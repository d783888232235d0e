package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// progress is how far the rollout of one pool is while turns are given.
type progress struct {
	rollouts *Rollouts
	pool     *rollout
	members  []*Follower    // sorted by name
	of       map[string]int // the wave of each node
	// waiting are the pools of which changes wait, by name.
	waiting map[string]*rollout
	// tolerated are the nodes whose failure keeps no wave from beginning.
	tolerated map[string]bool
	halt      *Halt
	// last are the last waves of which nodes have followed what pools say, by name, as far as that
	// was asked.
	last map[string]int
	// first is, by node, the rank of the strongest pool of which it has not followed a change.
	first map[string]int
	// states are those of the waves, by the rank of the weakest pool whose changes count: what a
	// weaker one wants keeps no change of a stronger one waiting. They are nil where there are no
	// waves, or all nodes have followed.
	states map[int]*WaveState
	// state is that of all that waits.
	state *WaveState
	// latches are the waves that are over, and next those that are by now, by change.
	latches, next map[string]Latch
	// since is when the last step was made, and deadline when the next one takes too long;
	// zero where it may take any time.
	since, deadline time.Time
}

// opens reports whether it is the turn of the wave of a node.
func (p *progress) opens(state *WaveState, node string) bool {
	return state == nil || p.of[node] <= state.Index && state.Behind > 0
}

// stateFor is that of the waves for what a pool says, and stronger ones do; that of all that
// waits for a pool that is gone.
func (p *progress) stateFor(changing *rollout, now time.Time) *WaveState {
	if changing == nil || len(p.pool.waves) == 0 {
		return p.state
	}
	state, known := p.states[changing.rank]
	if !known {
		state = p.stateUpTo(changing.rank, now)
		p.states[changing.rank] = state
	}
	return state
}

// shown is the state of the waves that somebody is told about: that of all that waits; but
// where this has to wait for something else, the one that only waits for an approval, of the
// strongest changes if there are several.
func (p *progress) shown() *WaveState {
	waits := func(s *WaveState) bool { return s != nil && s.Approval != "" && s.Unavailable.None() }
	shown := p.state
	for _, rank := range slices.Sorted(maps.Keys(p.states)) {
		if state := p.states[rank]; !waits(shown) && waits(state) {
			shown = state
		}
	}
	if shown == nil || shown.Approval == "" {
		return shown
	}
	asks := *shown
	asks.Approval = p.besides(shown.Approval)
	return &asks
}

// besides is an approval, with those that the pool has and that other changes than the approved
// ones need still: there is one annotation, and it would withdraw them.
func (p *progress) besides(approval string) string {
	var needed []string
	for _, given := range strings.Split(p.pool.approved, ",") {
		for rank, state := range p.states {
			passed := len(p.pool.waves)
			if state != nil {
				passed = min(passed, state.Index)
			}
			changes := p.changesUpTo(rank)
			for i, w := range p.pool.waves[:passed] {
				if w.approval && !slices.Contains(needed, given) && p.pool.isApproved(given, i, changes) && !p.pool.isApproved(approval, i, changes) {
					needed = append(needed, given)
				}
			}
		}
	}
	return strings.Join(append(needed, approval), ",")
}

// changesUpTo stand for what pools up to a rank say of which changes wait; sorted.
func (p *progress) changesUpTo(rank int) (changes []string) {
	for _, one := range p.waiting {
		if one.rank <= rank {
			changes = append(changes, one.change)
		}
	}
	slices.Sort(changes)
	return changes
}

// progressOf returns how far the rollout of a pool is, which was halted before, or not. Its
// members are sorted by name.
func (r *Rollouts) progressOf(pool *rollout, members []*Follower, before *Halt, now time.Time) *progress {
	p := &progress{rollouts: r, pool: pool, members: members, tolerated: map[string]bool{}, first: make(map[string]int, len(members)), states: map[int]*WaveState{}, latches: r.latches[pool.name], next: map[string]Latch{}}
	waiting := make([]bool, len(r.pools)) // by rank
	for _, node := range members {
		for _, changing := range node.waits {
			if !pool.governs(changing) {
				continue
			}
			waiting[changing.rank] = true
			if first, behind := p.first[node.Name]; !behind || changing.rank < first {
				p.first[node.Name] = changing.rank
			}
		}
	}
	since := time.Time{}
	for rank, waits := range waiting {
		if waits {
			since = latest(since, r.ranked[rank].changed)
		}
	}
	p.of = assign(pool, members, func(node *Follower) bool { _, behind := p.first[node.Name]; return !behind && node.joined(since) })
	if len(p.first) == 0 {
		p.halt = r.standing(pool.name, before, false)
		return p
	}
	p.waiting = map[string]*rollout{}
	for rank, waits := range waiting {
		if one := r.ranked[rank]; waits {
			p.waiting[one.name] = one
		}
	}
	p.halt = p.haltOf(pool, r.standing(pool.name, before, true), now)
	for weakest, waits := range waiting { // each of them may wait for something else
		if waits && len(pool.waves) > 0 {
			p.state = p.stateFor(r.ranked[weakest], now)
		}
	}
	p.since, p.deadline = r.deadlineOf(pool, p, waiting)
	return p
}

// behind reports whether a node has not followed a change of a pool of a rank, or a stronger one.
func (p *progress) behind(node *Follower, rank int) bool {
	first, waits := p.first[node.Name]
	return waits && first <= rank
}

// stateUpTo is that of the first wave that keeps the next one from beginning, with changes of
// pools up to a rank; nil where none does.
func (p *progress) stateUpTo(rank int, now time.Time) *WaveState {
	began, unknown := make([]time.Time, len(p.pool.waves)+1), make([]bool, len(p.pool.waves)+1)
	last := time.Time{}
	for _, node := range p.members {
		if wave := p.of[node.Name]; !p.behind(node, rank) {
			at := p.beganAt(node, rank)
			began[wave], last = latest(began[wave], at), latest(last, at)
			unknown[wave] = unknown[wave] || at.IsZero() && slices.ContainsFunc(node.Left, func(pool string) bool {
				return p.waiting[pool] != nil && p.waiting[pool].rank <= rank
			})
		}
	}
	changes, since, lacks := p.changesUpTo(rank), time.Time{}, false
	for i, state := range p.wavesUpTo(rank, now) {
		since, lacks = latest(since, began[i]), lacks || unknown[i]
		soaks := since      // as nodes of this wave, and of earlier ones, began last
		if since.IsZero() { // nodes that came to the pool may have taken the places of those that have followed
			soaks = last
		}
		over := i < len(p.pool.waves) && p.isOver(changes, i)
		if lacks && !over && state.Behind == 0 {
			soaks = latest(soaks, p.completeSince(changes, i, now))
		}
		if !state.passed(p.pool, soaks, changes, over, now) {
			return state
		}
		if i < len(p.pool.waves) {
			p.ends(changes, i)
		}
	}
	return nil
}

// beganAt is when a node last began to follow pools up to a rank. Where a weaker one has changed
// it since, and that alone, it does not soak anew.
func (p *progress) beganAt(node *Follower, rank int) (at time.Time) {
	if len(node.Change.Pools) == 0 {
		return node.Change.At
	}
	weaker := false
	for name, followed := range node.Change.Pools {
		if one := p.rollouts.pools[name]; one != nil && one.rank > rank {
			weaker = true
		} else {
			at = latest(at, followed.At)
		}
	}
	if !weaker {
		return node.Change.At // it may have left pools since
	}
	return at
}

// occupies reports whether a node is not available to changes of pools up to a rank: that a weaker
// pool changes or drains it, and that alone, stops no wave.
func (p *progress) occupies(node *Follower, rank int, now time.Time) bool {
	if node.unavailable(p.pool.name) {
		return true
	}
	for _, drained := range node.Change.Drains {
		if p.rollouts.of(drained.Pool).rank <= rank {
			return true
		}
	}
	at := p.beganAt(node, rank)
	return !at.IsZero() && now.Before(at.Add(p.pool.minReady))
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// wavesUpTo are the states of all waves with changes of pools up to a rank, the rest last.
func (p *progress) wavesUpTo(rank int, now time.Time) []*WaveState {
	pool := p.pool
	states := make([]*WaveState, len(pool.waves)+1)
	for i := range states {
		states[i] = &WaveState{Wave: v1.RestWave, Index: i, Waves: len(states)}
		if i < len(pool.waves) {
			states[i].Wave = pool.waves[i].name
		}
	}
	for _, node := range p.members {
		state := states[p.of[node.Name]]
		state.Nodes++
		if p.behind(node, rank) {
			state.Behind++
		}
		// Of one that is busy nobody knows yet that it has followed; one that has left is done.
		if !node.left(pool.name) && (node.Stuck || node.Busy || p.occupies(node, rank, now) && !p.tolerated[node.Name]) {
			state.Unavailable.add(node, node.why(pool.name))
		}
	}
	return states
}

// passed reports whether the wave after one may begin, and notes what it waits for. Changes
// are what waits in the pool, and over reports that the soak is over for these, and the approval was
// given. A wave without nodes, whose only one may be gone, has nothing
// to soak, and still needs its approval.
func (s *WaveState) passed(pool *rollout, newest time.Time, changes []string, over bool, now time.Time) bool {
	switch {
	case s.Behind > 0:
		return false
	case s.Index == len(pool.waves):
		return true // there is none
	case over:
		return s.Unavailable.None()
	}
	w := pool.waves[s.Index]
	if until := newest.Add(w.soak); s.Nodes > 0 && !newest.IsZero() && until.After(now) {
		s.Soaks = until
	}
	if w.approval && !pool.approves(s.Index, changes) {
		s.Approval = approvalOf(changes, w.name)
	}
	return s.Unavailable.None() && s.Soaks.IsZero() && s.Approval == ""
}
