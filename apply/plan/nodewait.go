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

// Ask is that the changes of a pool wait for the turn of a node.
type Ask struct {
	Pool string
	// Reverts reports that they put back what the node had before.
	Reverts bool
	// Needs are the pools that have to move with it, or before it, sorted.
	Needs []string
}

func (a Ask) equal(other Ask) bool {
	return a.Pool == other.Pool && a.Reverts == other.Reverts && slices.Equal(a.Needs, other.Needs)
}

// Turn is that of a node: the pools whose changes may go. Of those that go back in spite of a closed
// gate, nothing else goes.
type Turn []Ask

func (t Turn) has(pool string, reverts bool) bool {
	return slices.ContainsFunc(t, func(ask Ask) bool { return ask.Pool == pool && (reverts || !ask.Reverts) })
}

// Pools are those whose changes may go.
func (t Turn) Pools() []string {
	pools := make([]string, len(t))
	for i, ask := range t {
		pools[i] = ask.Pool
	}
	return pools
}

// Allowed is what of a plan for a node may be written.
type Allowed struct {
	Plan *NodePlan
	// Wait are the pools whose changes wait.
	Wait NodeWait
	// Asks are the pools whose changes wait for the turn of the node, sorted: see [Rollouts.Turns].
	Asks []Ask
	// Closes is when the first window closes while changes of several pools wait, some of them
	// for the turn of the node: what waits for a window asks for none, and others may go then.
	// It is zero where that makes no difference.
	Closes time.Time
	// Begins are the pools for which the plan disturbs the node, where it is in pools in
	// which nodes take turns: by changes that had to wait for that, or by those of a stronger
	// pool.
	Begins []string

	unmet map[string]string // see [NodeOutcome]
}

// Allow returns what of a plan for a node may be written at a time, in a turn of the node.
// What pools see of the node when all of them have moved they do not see yet: where one
// waits, the others go by what there is. Nothing is written of pools that the API server refuses.
func (r *Rollouts) Allow(node *NodeState, p *NodePlan, now time.Time, turn Turn, refused map[string]Refusal) Allowed {
	allowed := Allowed{Plan: p}
	if r == nil || p.NoOp() {
		return allowed
	}
	m := r.moversOf(node, p, now, turn, refused)
	if len(m.closed)+len(m.limiting)+len(m.obstacles) == 0 {
		return allowed
	}
	if m.decide(); len(m.waiting) > 0 {
		allowed.note(m)
		if p.step != nil {
			allowed.Plan = p.step
			if m = r.moversOf(node, p.step, now, turn, refused); !p.step.NoOp() {
				m.decide()
			}
			if len(m.waiting) > 0 {
				allowed.note(m)
			}
		}
		if len(m.waiting) > 0 {
			allowed.Plan = m.moving(refused)
		}
	}
	allowed.Begins = slices.DeleteFunc(r.begun(node, allowed.Plan, now), func(pool string) bool { return allowed.Wait.Of(pool) != nil })
	return allowed
}

// note notes what waits.
func (a *Allowed) note(m *movers) {
	asks, elsewhere := m.asks()
	a.Asks, a.Wait, a.Closes = asks, m.waits(elsewhere), time.Time{}
	if len(asks) > 0 && len(m.waiting) > 1 {
		a.Closes = m.closes()
	}
}

// begun are the pools for which a plan that is written disturbs a node that is in pools in
// which nodes take turns; sorted.
func (r *Rollouts) begun(node *NodeState, p *NodePlan, now time.Time) []string {
	m := r.moversOf(node, p, now, nil, nil)
	if p.NoOp() || len(m.limiting) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.disturbs(p, noTaint))), m.exempt)
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
