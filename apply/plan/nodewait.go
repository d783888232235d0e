package plan

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// joiningPeriod is how long a node counts as one that joins: its labels may come one
	// after the other.
	joiningPeriod = 15 * time.Minute
	// unattendedPeriod is for how long a node can have been there while no controller was
	// running, and still count as one that joins.
	unattendedPeriod = 24 * time.Hour
)

// NodeWait are the pools whose changes a node does not follow yet, sorted by name.
type NodeWait []*PoolWait

// Of is the wait for one pool; nil where its changes do not wait.
func (w NodeWait) Of(pool string) *PoolWait {
	at, found := slices.BinarySearchFunc(w, pool, func(one *PoolWait, name string) int { return strings.Compare(one.Pool, name) })
	if !found {
		return nil
	}
	return w[at]
}

// Until is when the wait has to be decided anew; zero where nothing is found to end it.
func (w NodeWait) Until() time.Time {
	var first time.Time
	for _, one := range w {
		if first.IsZero() || !one.Until.IsZero() && one.Until.Before(first) {
			first = one.Until
		}
	}
	return first
}

// Equal reports whether two waits say the same.
func (w NodeWait) Equal(other NodeWait) bool { return slices.EqualFunc(w, other, (*PoolWait).Equal) }

// Allowed is what of a plan for a node may be written.
type Allowed struct {
	Plan *NodePlan
	// Wait are the pools whose changes wait.
	Wait NodeWait
	// Asks are the pools in whose rollouts the node waits for its turn, sorted: see
	// [Rollouts.Turns].
	Asks []string
	// AsksOf are those rollouts by the pool whose changes wait, sorted by name.
	AsksOf []PoolAsks
	// Closes is when the first window closes while changes of several pools wait, some of them
	// for the turn of the node: what waits for a window asks for none, and others may go then.
	// It is zero where that makes no difference.
	Closes time.Time
	// Reverts are the pools of which what waits for the turn of the node, or begins in it,
	// puts back what the node had before; sorted.
	Reverts []string
	// Begins are the pools for which the plan disrupts the node, where it is in pools in
	// which nodes take turns: by changes that had to wait for that, or by those of a stronger
	// pool.
	Begins []string

	unmet map[string]string // see [NodeOutcome]
}

// Turn is that of a node: the pools in whose rollouts it is its turn, and the pools of which
// alone the changes may go that put back what was before, or are expedited, and of which all
// changes are free to go; those of all pools are where Restricted is false.
type Turn struct {
	In, Only, Free []string
	Restricted     bool

	// refused are the pools of which nothing is written: see [NodeFacts.Refused].
	refused map[string]Refusal
}

// Allow returns what of a plan for a node may be written at a time, in a turn of the node.
// What pools see of the node when all of them have moved they do not see yet: where one
// waits, the others go by what there is.
func (r *Rollouts) Allow(node *NodeState, p *NodePlan, now time.Time, turn Turn) Allowed {
	allowed := r.allow(node, p, now, turn)
	if r != nil {
		allowed.Begins = slices.DeleteFunc(r.begun(node, allowed.Plan, now), func(pool string) bool { return allowed.Wait.Of(pool) != nil })
	}
	return allowed
}

func (r *Rollouts) allow(node *NodeState, p *NodePlan, now time.Time, turn Turn) Allowed {
	allowed := r.wait(node, p, now, turn)
	if len(allowed.Wait) == 0 {
		return allowed
	}
	if p.step != nil {
		step := r.wait(node, p.step, now, turn)
		if len(step.Wait) == 0 {
			step.Wait, step.Asks, step.AsksOf, step.Reverts, step.Closes = allowed.Wait, allowed.Asks, allowed.AsksOf, allowed.Reverts, allowed.Closes
			return step
		}
		allowed = step
	}
	allowed.Plan = allowed.Plan.holding(node, allowed.Wait, r, turn.refused)
	return allowed
}

// Wait returns the pools whose changes a node may not follow at a time, of a plan for it,
// turns left aside.
//
// A pool moves whole: where one of its changes is disruptive, all of them wait; and with
// it all changes of the pools within it.
// Disruptive is what may keep pods off the node, or end them there: that a label changes
// or goes, and that a NoSchedule or NoExecute taint comes, changes or goes. What was
// changed by hand is no change of a pool. Nodes that join wait for nothing but for
// what keeps them from being drained, which waits on all.
func (r *Rollouts) Wait(node *NodeState, p *NodePlan, now time.Time) NodeWait {
	return slices.DeleteFunc(r.wait(node, p, now, Turn{}).Wait, func(wait *PoolWait) bool { return wait.Turn })
}

// governing are the pools that a node waits for with a plan.
func (r *Rollouts) governing(node *NodeState, p *NodePlan, now time.Time, turn Turn) *governing {
	carried, concerned := p.recorded.Pools(), p.concerned()
	g := &governing{
		rollouts: r, concerned: concerned, turn: turn,
		exempt: func(pool *rollout) bool {
			return p.pools.Holds(pool.name) || joins(node, carried, pool, now)
		},
		reverts: func(pool string) bool { return p.reverts(pool, now) },
	}
	g.closed, g.limiting = r.closedOf(concerned, now), r.limiting(concerned)
	g.obstacles = refusals(p, turn.refused)
	return g
}

// begun are the pools for which a plan that is written disrupts a node that is in pools in
// which nodes take turns, whoever of those that want the same was free; sorted.
func (r *Rollouts) begun(node *NodeState, p *NodePlan, now time.Time) []string {
	if p.NoOp() {
		return nil
	}
	g := r.governing(node, p, now, Turn{})
	if len(g.limiting) == 0 {
		return nil
	}
	nobody, everybody := func(string) bool { return false }, func(string) bool { return true }
	return slices.DeleteFunc(r.disrupted(p, nobody, everybody, noTaint), func(pool string) bool { return g.exempt(r.of(pool)) })
}

func (r *Rollouts) wait(node *NodeState, p *NodePlan, now time.Time, turn Turn) Allowed {
	a := Allowed{Plan: p}
	if r == nil || p.NoOp() {
		return a
	}
	g := r.governing(node, p, now, turn)
	if len(g.closed)+len(g.limiting)+len(g.obstacles) == 0 {
		return a
	}
	remains := g.remains(node, p)
	waiting := g.within(p, r.disrupted(p, g.free, r.takesOver, remains))
	for g.obstruct(node, p, waiting) {
		waiting = g.within(p, r.disrupted(p, g.free, r.takesOver, remains))
	}
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		a.add(name, waiting[name], g, now)
	}
	slices.Sort(a.Asks)
	a.Asks = slices.Compact(a.Asks)
	if len(a.Asks) > 0 && len(waiting) > 1 {
		a.Closes = g.closes(now)
	}
	return a
}

// add has the changes of a pool wait, as long as those of another one do, which may be the
// same.
func (a *Allowed) add(pool, as string, g *governing, now time.Time) {
	if o, obstructed := g.obstacles[as]; obstructed {
		a.Wait = append(a.Wait, &PoolWait{pool, g.rollouts.obstacleOf(as, o, now)})
		return
	}
	if closed := g.windows(as); len(closed) > 0 {
		a.Wait = append(a.Wait, &PoolWait{pool, g.rollouts.restrictionOf(closed, now)})
		return
	}
	limiting := g.limits(as)
	if g.reverts(pool) {
		a.Reverts = append(a.Reverts, pool) // in the order of the names
	}
	a.Wait = append(a.Wait, &PoolWait{pool, g.rollouts.turnOf(limiting, now)})
	asks := PoolAsks{Pool: pool}
	for _, one := range limiting {
		asks.In = append(asks.In, one.name)
	}
	slices.Sort(asks.In)
	a.Asks, a.AsksOf = append(a.Asks, asks.In...), append(a.AsksOf, asks)
}

// joins reports whether a node, which carries keys of some pools, is new to a pool, which has put
// nothing on it yet: it came a moment ago; or it has come since the pool last changed, within a day,
// and no pool has put anything on it, as nobody was there to do so.
func joins(node *NodeState, carried map[string]bool, pool *rollout, now time.Time) bool {
	age := now.Sub(node.Created.Time)
	switch {
	case node.Created.IsZero() || carried[pool.name] || age.Abs() > unattendedPeriod:
		return false
	case age >= -joiningPeriod && age <= joiningPeriod:
		return true
	}
	return len(carried) == 0 && !node.Created.Time.Before(pool.changed)
}
