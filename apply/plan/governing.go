package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/render"
)

// governing are the pools that a node waits for.
type governing struct {
	rollouts *Rollouts
	// concerned are the pools that the node is in, or carries keys of.
	concerned []string
	// closed pools, and those in which nodes take turns, the strongest first.
	closed, limiting []*rollout
	turn             Turn
	// exempt reports that a pool waits for none of them on this node.
	exempt func(pool *rollout) bool
	// reverts reports that what changes of a pool puts back what the node had before: that
	// waits for no window, and for its turn all the same.
	reverts func(pool string) bool
	// obstacles are what keeps pools from changing anything on the node, by name.
	obstacles map[string]obstacle
}

// windows are the closed pools that a pool waits for, and limits those in whose rollouts it
// has to be the turn of the node.
func (g *governing) windows(pool string) []*rollout {
	change := g.rollouts.of(pool).change
	holds := func(one *rollout) bool { return one.paused || !one.expedites(change) && !g.reverts(pool) }
	return g.over(g.closed, pool, maxClosed, holds)
}

func (g *governing) limits(pool string) []*rollout {
	return g.over(g.limiting, pool, len(g.limiting), func(*rollout) bool { return true })
}

// closes is when the first of the pools closes that are open at a time; zero where none does.
func (g *governing) closes(now time.Time) (first time.Time) {
	for _, one := range g.rollouts.among(g.concerned, func(one *rollout) bool { return one.calendar != nil && !one.closedAt(now) }) {
		first = sooner(first, one.turnsAt(now), now)
	}
	return first
}

// over are those of the pools that a pool waits for, if they hold it, the strongest first,
// most at the most: no more of those that are closed are ever named.
func (g *governing) over(pools []*rollout, name string, most int, holds func(*rollout) bool) []*rollout {
	changing := g.rollouts.of(name)
	if len(pools) == 0 || g.exempt(changing) {
		return nil
	}
	var found []*rollout
	for _, one := range pools {
		if len(found) == most {
			break
		}
		if one.governs(changing) && holds(one) {
			found = append(found, one)
		}
	}
	return found
}

// free reports whether a pool waits for nothing.
func (g *governing) free(pool string) bool {
	if _, obstructed := g.obstacles[pool]; obstructed {
		return false
	}
	return len(g.windows(pool)) == 0 &&
		!slices.ContainsFunc(g.limits(pool), func(one *rollout) bool { return !g.inTurn(pool, one) })
}

// inTurn reports whether it is the turn of the node in a rollout with what changes of a
// pool.
func (g *governing) inTurn(pool string, one *rollout) bool {
	if !slices.Contains(g.turn.In, one.name) {
		return false
	}
	change := g.rollouts.of(pool).change
	return !g.turn.Restricted || slices.Contains(g.turn.Free, pool) || slices.Contains(g.turn.Only, pool) &&
		(g.reverts(pool) || slices.ContainsFunc(g.limiting, func(one *rollout) bool { return one.expedites(change) }))
}

// within adds to pools that wait those within them that change, too: a label of an inner
// pool does not come before the taint of the pool around it. It returns, by pool, for which
// one it waits.
func (g *governing) within(p *NodePlan, waiting []string) map[string]string {
	for pool := range g.obstacles { // what it changes may be no disruption
		if !slices.Contains(waiting, pool) {
			waiting = append(waiting, pool)
		}
	}
	all := make(map[string]string, len(waiting))
	for _, name := range waiting {
		all[name] = name
		for _, around := range g.rollouts.of(name).around {
			o, obstructed := g.obstacles[around]
			if o.leaving && !slices.Contains(p.Pools, name) {
				continue
			}
			if obstructed || slices.Contains(waiting, around) && len(g.windows(around)) > 0 {
				all[name] = around // and asks for no turn meanwhile, which it would not take
				break
			}
		}
	}
	for _, change := range p.Changes {
		if change.Drift || all[change.Pool] != "" || len(waiting) == 0 {
			continue
		}
		for _, around := range g.rollouts.of(change.Pool).around {
			if g.obstacles[around].leaving && !slices.Contains(p.Pools, change.Pool) {
				continue // the node has left both
			}
			if slices.Contains(waiting, around) {
				all[change.Pool] = around
			}
		}
	}
	return all
}

// governs reports whether a change of another pool waits for this one.
func (r *rollout) governs(other *rollout) bool {
	if r.name == other.name {
		return true
	}
	return !r.deleted && (slices.Contains(other.around, r.name) || r.rank < other.rank)
}

// causes reports whether it is a change of those that want a key that it goes to them from
// another pool: an inner pool has begun to want what one around it has, or the strongest of
// them, which is stronger than the other one, or one around the other one, which a third pool
// is too strong for. Or else the other one no longer wants it. One that holds still gives up nothing: it is theirs if one of them goes before it.
func (r *Rollouts) causes(pools *render.Expansion, keeps keepsKey, want render.Want, from string) bool {
	if pools.Holds(from) {
		return goesBefore(pools, keeps, want, from)
	}
	has := r.of(from)
	strongest := len(r.pools)
	for _, name := range append([]string{want.Pool}, want.Agreeing...) {
		one := r.of(name)
		switch {
		case slices.Contains(one.around, from):
			return true
		case slices.Contains(has.around, name):
			return slices.Contains(want.Unheard, from) // if not, it no longer wants the key
		}
		strongest = min(strongest, one.rank)
	}
	return strongest < has.rank
}

// disrupted are the pools that have a disruptive change on the node and are not free to
// make it, sorted. A value on which pools agree comes as soon as one of them is free.
func (r *Rollouts) disrupted(p *NodePlan, free func(pool string) bool) []string {
	pools := map[string]bool{}
	note := func(name string) { pools[name] = true }
	wanted := func(want render.Want) {
		if !free(want.Pool) && !slices.ContainsFunc(want.Agreeing, free) {
			note(want.Pool)
			for _, name := range want.Agreeing {
				note(name)
			}
		}
	}
	consider := func(keeps keepsKey, entry Entry, ours bool, want render.Want, still bool) {
		if ours && (!still || want.Pool != entry.Pool && !r.causes(p.pools, keeps, want, entry.Pool)) {
			note(entry.Pool)
		} else {
			wanted(want)
		}
	}
	for key, want := range p.desired.Labels {
		if entry, ours := p.recorded.Labels[key]; ours && want.Value != entry.Value || !ours && p.replaces(key) {
			consider(labels.keepsKey(key), entry, ours, want, true)
		}
	}
	for id, want := range p.desired.Taints {
		entry, ours := p.recorded.Taints[id]
		if _, changes := p.taints.changed[id]; r.disrupts(p, id) && (ours && want.Value != entry.Value || !ours && changes) {
			consider(taints.keepsKey(id), entry, ours, want, true)
		}
	}
	for key, entry := range p.recorded.Labels {
		if _, still := p.desired.Labels[key]; !still {
			consider(labels.keepsKey(key), entry, true, render.Want{}, false)
		}
	}
	for id, entry := range p.recorded.Taints {
		if _, still := p.desired.Taints[id]; r.disrupts(p, id) && !still {
			consider(taints.keepsKey(id), entry, true, render.Want{}, false)
		}
	}
	maps.DeleteFunc(pools, func(name string, _ bool) bool { return free(name) })
	return slices.Sorted(maps.Keys(pools))
}

// replaces reports whether the change of a label has a value before it.
func (p *NodePlan) replaces(label string) bool {
	at, found := slices.BinarySearchFunc(p.Changes, KeyChange{Field: Label, Key: label}, compareKeyChanges)
	return found && p.Changes[at].Before != nil
}

// disrupts reports whether a change of a taint may keep pods off a node, or end them there,
// and is not the end of a drain.
func (r *Rollouts) disrupts(p *NodePlan, id render.TaintID) bool {
	return id.Effect != corev1.TaintEffectPreferNoSchedule && !r.completes(p, id)
}
