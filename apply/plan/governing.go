package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
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

// causes reports whether a key goes from a pool to the one that wants it because the other one
// comes before it by rank. Else the pool no longer wants the key.
func (r *Rollouts) causes(pools *render.Expansion, want render.Want, from string) bool {
	return !pools.HoldsAgainst(from, want.Pool) && r.of(want.Pool).rank < r.of(from).rank
}

// disrupted are the pools that have a disruptive change on the node and are not free to
// make it, sorted. A value on which pools agree comes as soon as one of them is free; in place of
// what somebody else has put there, as soon as one of those is that take it over. What a pool gives
// up and remains all the same is no change.
func (r *Rollouts) disrupted(p *NodePlan, free, takesOver func(pool string) bool, remains func(id render.TaintID) bool) []string {
	pools := map[string]bool{}
	note := func(name string) { pools[name] = true }
	wanted := func(want render.Want, theirs bool) {
		changing := slices.DeleteFunc(append([]string{want.Pool}, want.Agreeing...), func(name string) bool { return theirs && !takesOver(name) })
		if !slices.ContainsFunc(changing, free) {
			for _, name := range changing {
				note(name)
			}
		}
	}
	moves := func(entry Entry, want render.Want, stays bool) {
		switch {
		case want.Pool == entry.Pool || r.causes(p.pools, want, entry.Pool):
			wanted(want, false)
		case !stays:
			note(entry.Pool)
		}
	}
	for key, want := range p.desired.Labels {
		switch entry, ours := p.recorded.Labels[key]; {
		case ours && want.Value != entry.Value:
			moves(entry, want, false)
		case !ours && p.replaces(Label, key):
			wanted(want, true)
		}
	}
	for id, want := range p.desired.Taints {
		entry, ours := p.recorded.Taints[id]
		switch _, changes := p.taints.changed[id]; {
		case !r.disrupts(p, id):
		case ours && want.Value != entry.Value:
			moves(entry, want, remains(id))
		case !ours && changes:
			wanted(want, p.replaces(Taint, id.String()))
		}
	}
	for key, entry := range p.recorded.Labels {
		if _, still := p.desired.Labels[key]; !still {
			note(entry.Pool)
		}
	}
	for id, entry := range p.recorded.Taints {
		if _, still := p.desired.Taints[id]; r.disrupts(p, id) && !still {
			note(entry.Pool)
		}
	}
	maps.DeleteFunc(pools, func(name string, _ bool) bool { return free(name) })
	return slices.Sorted(maps.Keys(pools))
}

// takesOver reports whether a pool takes over what somebody else has put on a node.
func (r *Rollouts) takesOver(pool string) bool {
	return reach(r.of(pool).policy) > reach(v1.ReportConflicts)
}

// remains says of which NoExecute taints of a plan they remain on a node, whosever turn it is: all
// those wait for their windows that want another value, and so do all that take over what lets pods
// come while the node is drained of it.
func (g *governing) remains(node *NodeState, p *NodePlan) func(id render.TaintID) bool {
	open := func(pool string) bool { return len(g.windows(pool)) == 0 }
	opens := func(pool string) bool { return g.rollouts.takesOver(pool) && open(pool) }
	some := func(want render.Want, is func(pool string) bool) bool {
		return is(want.Pool) || slices.ContainsFunc(want.Agreeing, is)
	}
	return func(id render.TaintID) bool {
		twin, want := twinOf(id), p.desired.Taints[id]
		_, takesOver := p.takesOver(node, twin)
		if id == twin || !takesOver || carriesTaint(node, twin, want.Value) || some(p.desired.Taints[twin], opens) || some(want, open) {
			return false
		}
		by := g.rollouts.drainedBy(p, want.Pool)
		return by != nil && !by.drain.force
	}
}

// noTaint reports of no taint that it remains.
func noTaint(render.TaintID) bool { return false }

// replaces reports whether the change of a key has a value before it.
func (p *NodePlan) replaces(field Field, key string) bool {
	at, found := slices.BinarySearchFunc(p.Changes, KeyChange{Field: field, Key: key}, compareKeyChanges)
	return found && p.Changes[at].Before != nil
}

// disrupts reports whether a change of a taint may keep pods off a node, or end them there,
// and is not the end of a drain.
func (r *Rollouts) disrupts(p *NodePlan, id render.TaintID) bool {
	return id.Effect != corev1.TaintEffectPreferNoSchedule && !r.completes(p, id)
}
