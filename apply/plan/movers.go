package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/render"
)

// Each key of a node has one mover: the stronger of the pool that has it by the record and the pool
// that would get it. The key changes when its mover moves; otherwise the recorded entry stands. A
// pool moves on a node as a whole, unless it, a pool around it, or a stronger one has a closed gate
// there: a window, a turn in a budget or in a wave, a halt.

// mover is the one of a key, by the pool that has it and the pool that would get it; empty is none.
func (r *Rollouts) mover(has, gets string) string {
	if has == "" || gets != "" && r.of(gets).rank < r.of(has).rank {
		return gets
	}
	return has
}

// movers are the pools that move on a node with a plan, and their gates there.
type movers struct {
	rollouts *Rollouts
	node     *NodeState
	p        *NodePlan
	now      time.Time
	turn     Turn
	// concerned are the pools that the node is in, or carries keys of.
	concerned []string
	carried   map[string]bool
	// closed pools, and those in which nodes take turns, the strongest first.
	closed, limiting []*rollout
	// disturbing are the movers of keys whose change may keep pods off the node, or end them there.
	disturbing map[string]bool
	// obstacles are what keeps pools from changing anything on the node, by name.
	obstacles map[string]obstacle
	// waiting are the pools that do not move, and for each the pool with the closed gate, which may be
	// the same; lacking are others that want keys which stay as they are meanwhile.
	waiting, lacking map[string]string
}

func (r *Rollouts) moversOf(node *NodeState, p *NodePlan, now time.Time, turn Turn, refused map[string]Refusal) *movers {
	m := &movers{rollouts: r, node: node, p: p, now: now, turn: turn, concerned: p.concerned(), carried: p.recorded.Pools()}
	m.closed, m.limiting = r.closedOf(m.concerned, now), r.limiting(m.concerned)
	m.obstacles = refusals(p, refused)
	return m
}

// exempt reports whether a pool waits for no gate on the node: it joins, or holds still.
func (m *movers) exempt(pool string) bool {
	return m.p.pools.Holds(pool) || joins(m.node, m.carried, m.rollouts.of(pool), m.now)
}

// windows are the closed pools that a pool waits for, and limits those in whose rollouts it has to be
// the turn of the node.
func (m *movers) windows(pool string) []*rollout {
	change := m.rollouts.of(pool).change
	return m.over(m.closed, pool, maxClosed, func(one *rollout) bool {
		return one.paused || !one.expedites(change) && !m.p.reverts(pool, m.now)
	})
}

func (m *movers) limits(pool string) []*rollout {
	return m.over(m.limiting, pool, len(m.limiting), func(*rollout) bool { return true })
}

// over are those of some pools that hold a pool, the strongest first, most at the most: no more of
// those that are closed are ever named.
func (m *movers) over(pools []*rollout, pool string, most int, holds func(*rollout) bool) (found []*rollout) {
	if len(pools) == 0 || m.exempt(pool) {
		return nil
	}
	for _, one := range pools {
		if len(found) == most {
			break
		}
		if one.governs(m.rollouts.of(pool)) && holds(one) {
			found = append(found, one)
		}
	}
	return found
}

// governs reports whether a change of another pool waits for this one.
func (r *rollout) governs(other *rollout) bool {
	if r.name == other.name {
		return true
	}
	return !r.deleted && (slices.Contains(other.around, r.name) || r.rank < other.rank)
}

// isFree reports whether no gate of a pool is closed.
func (m *movers) isFree(pool string) bool {
	_, obstructed := m.obstacles[pool]
	return !obstructed && len(m.windows(pool)) == 0 && (m.turn.has(pool, m.p.reverts(pool, m.now)) || len(m.limits(pool)) == 0)
}

// disturbs are the movers of the keys whose change may keep pods off a node, or end them there: that a
// label changes or goes, and that a NoSchedule or NoExecute taint comes, changes or goes, but for some.
// What was changed by hand is no change of a pool.
func (r *Rollouts) disturbs(p *NodePlan, but func(id render.TaintID) bool) map[string]bool {
	movers := map[string]bool{}
	eachKey(p.recorded.Labels, p.Record.Labels, func(key string, before, after *Entry) {
		if before == nil && !p.replaces(Label, key) || sameValue(before, after) {
			return
		}
		movers[r.moverOf(before, p.desired.Labels[key], after)] = true
	})
	eachKey(p.recorded.Taints, p.Record.Taints, func(id render.TaintID, before, after *Entry) {
		if id.Effect == corev1.TaintEffectPreferNoSchedule || sameValue(before, after) || before == nil && p.taints.changed[id] == nil || r.completes(p, id) {
			return
		}
		if mover := r.moverOf(p.keptBy(id, before), p.desired.Taints[id], after); before == nil || mover != before.Pool || !but(id) {
			movers[mover] = true
		}
	})
	return movers
}

// eachKey goes through the keys of two records.
func eachKey[K comparable](before, after map[K]Entry, consider func(key K, before, after *Entry)) {
	for key, entry := range before {
		consider(key, &entry, recordedEntry(after, key))
	}
	for key, entry := range after {
		if _, had := before[key]; !had {
			consider(key, nil, &entry)
		}
	}
}

func sameValue(a, b *Entry) bool { return a != nil && b != nil && a.Value == b.Value }

// moverOf is that of a key with an entry of the record, nil for none, and what is wanted of it.
func (r *Rollouts) moverOf(before *Entry, want render.Want, after *Entry) string {
	has, gets := "", want.Pool
	if before != nil {
		has = before.Pool
	}
	if gets == "" && after != nil {
		gets = after.Pool
	}
	return r.mover(has, gets)
}

// keptBy is the entry of a taint by which it has a mover: what keeps pods off while a node is drained
// makes way for what others want there.
func (p *NodePlan) keptBy(id render.TaintID, entry *Entry) *Entry {
	drained, drains := p.recorded.Change.Drains[render.TaintID{Key: id.Key, Effect: corev1.TaintEffectNoExecute}]
	if _, wanted := p.desired.Taints[id]; drains && wanted && entry != nil && id == twinOf(id) && entry.Value == drained.Value {
		return nil
	}
	return entry
}

// replaces reports whether the change of a key has a value before it.
func (p *NodePlan) replaces(field Field, key string) bool {
	at, found := slices.BinarySearchFunc(p.Changes, KeyChange{Field: field, Key: key}, compareKeyChanges)
	return found && p.Changes[at].Before != nil
}

// decide works out which pools do not move.
func (m *movers) decide() {
	m.disturbing = m.rollouts.disturbs(m.p, m.remains)
	for m.close(); m.obstruct(m.node, m.p, m.waiting); {
		m.close()
	}
}

// close finds the pools with closed gates, those within them, and those that lack by that what they
// want.
func (m *movers) close() {
	gates := map[string]bool{}
	for pool := range m.disturbing {
		if !m.isFree(pool) {
			gates[pool] = true
		}
	}
	for pool := range m.obstacles { // what it changes may disturb nothing
		gates[pool] = true
	}
	m.waiting, m.lacking = make(map[string]string, len(gates)), map[string]string{}
	for pool := range gates {
		m.waiting[pool] = pool
	}
	for _, change := range m.p.Changes {
		if change.Drift || m.waiting[change.Pool] != "" || len(gates) == 0 {
			continue
		}
		for _, around := range m.rollouts.of(change.Pool).around {
			if gates[around] && !m.leftBoth(around, change.Pool) {
				m.waiting[change.Pool] = around
			}
		}
	}
	for len(m.waiting) > 0 && m.lack() {
	}
}

// leftBoth reports whether a node has left a pool and the one around it, of which the API server
// refuses the release.
func (m *movers) leftBoth(around, pool string) bool {
	return m.obstacles[around].leaving && !slices.Contains(m.p.Pools, pool)
}

// lack finds pools that want keys which stay as they are: each waits as a whole for the mover of that
// key. It reports whether there is one more.
func (m *movers) lack() (found bool) {
	note := func(before *Entry, want render.Want) {
		has := ""
		if before != nil {
			has = before.Pool
		}
		cause := m.waiting[m.rollouts.mover(has, want.Pool)]
		if cause == "" || before != nil && before.Value == want.Value {
			return
		}
		for _, pool := range append([]string{want.Pool}, want.Agreeing...) {
			switch {
			case m.waiting[pool] != "" || m.lacking[pool] != "":
			case m.exempt(pool):
				m.lacking[pool] = cause
			default:
				m.waiting[pool], found = cause, true
			}
		}
	}
	for key, want := range m.p.desired.Labels {
		note(recordedEntry(m.p.recorded.Labels, key), want)
	}
	for key, want := range m.p.desired.Annotations {
		note(recordedEntry(m.p.recorded.Annotations, key), want)
	}
	for id, want := range m.p.desired.Taints {
		if !m.rollouts.completes(m.p, id) {
			note(m.p.keptBy(id, recordedEntry(m.p.recorded.Taints, id)), want)
		}
	}
	return found
}

// needs are the pools with closed gates that have to move with a pool, or before it.
func (m *movers) needs(pool string) (needs []string) {
	for _, around := range m.rollouts.of(pool).around {
		if m.waiting[around] == around && !m.leftBoth(around, pool) {
			needs = append(needs, around)
		}
	}
	if cause := m.waiting[pool]; cause != pool {
		needs = append(needs, cause)
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// asks are the pools that wait for their turn on the node, and each that waits for something else
// with the pool whose gate that is.
func (m *movers) asks() (asks []Ask, elsewhere map[string]string) {
	elsewhere = map[string]string{}
	for pool := range m.waiting {
		if _, obstructed := m.obstacles[pool]; obstructed || m.waiting[pool] == pool && len(m.windows(pool)) > 0 {
			elsewhere[pool] = pool
		}
	}
	for again := true; again; { // what would not use a turn asks for none
		again = false
		for _, pool := range slices.Sorted(maps.Keys(m.waiting)) {
			if elsewhere[pool] != "" {
				continue
			}
			for _, need := range m.needs(pool) {
				if elsewhere[need] != "" {
					elsewhere[pool], again = elsewhere[need], true
					break
				}
			}
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(m.waiting)) {
		if elsewhere[pool] == "" && m.disturbing[pool] && len(m.limits(pool)) > 0 {
			asks = append(asks, Ask{Pool: pool, Reverts: m.p.reverts(pool, m.now), Needs: m.needs(pool)})
		}
	}
	return asks, elsewhere
}

// waits are the pools whose changes wait, and for what.
func (m *movers) waits(elsewhere map[string]string) (waits NodeWait) {
	for _, of := range []map[string]string{m.waiting, m.lacking} {
		for pool, cause := range of {
			if elsewhere[pool] != "" {
				cause = elsewhere[pool]
			} else if elsewhere[cause] != "" {
				cause = elsewhere[cause]
			}
			waits = append(waits, &PoolWait{pool, m.restriction(cause)})
		}
	}
	slices.SortFunc(waits, func(a, b *PoolWait) int { return cmp.Compare(a.Pool, b.Pool) })
	return waits
}

// restriction is what the closed gate of a pool is.
func (m *movers) restriction(pool string) *Restriction {
	if o, obstructed := m.obstacles[pool]; obstructed {
		return m.rollouts.obstacleOf(pool, o, m.now)
	}
	if closed := m.windows(pool); len(closed) > 0 {
		return m.rollouts.restrictionOf(closed, m.now)
	}
	return m.rollouts.turnOf(m.limits(pool), m.now)
}

// closes is when the first of the pools closes that are open; zero where none does.
func (m *movers) closes() (first time.Time) {
	for _, one := range m.rollouts.among(m.concerned, func(one *rollout) bool { return one.calendar != nil && !one.closedAt(m.now) }) {
		first = sooner(first, one.turnsAt(m.now), m.now)
	}
	return first
}
