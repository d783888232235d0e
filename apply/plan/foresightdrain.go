package plan

import (
	"slices"
	"time"
)

// decide decides what becomes of a node now, of which no pod is left as soon as that is
// believed: how long pods take to go nobody can foretell.
func (f *foresight) decide(node *foreseen, turn Turn) NodeOutcome {
	facts := NodeFacts{Rollouts: f.rollouts, Turn: turn, Unready: !f.ready(node), Now: f.now}
	outcome := NodeOutcomeOf(node.state, f.pools, facts)
	if drain := outcome.Drain; drain != nil && drain.Began {
		facts.Drained, facts.Evicted = len(drain.Taints) > 0 && !f.now.Before(drain.Settles(time.Time{})), true
		outcome = NodeOutcomeOf(node.state, f.pools, facts)
	}
	return outcome
}

// goesOn is when the drain of a node goes on, by its last outcome: when pods are believed to
// be gone, or, where they would come again, when the taints come all the same. It is zero
// where neither happens.
func (f *foresight) goesOn(node *foreseen) (first time.Time) {
	drain := node.outcome.Drain
	if drain == nil || !drain.Began {
		return first
	}
	if len(drain.Taints) > 0 {
		first = sooner(first, drain.Settles(time.Time{}), f.now)
	}
	if drain.Obstacle == "" || f.idle > maxIdle {
		return first
	}
	for _, drained := range node.outcome.Plan.recorded.Change.Drains {
		if by := f.rollouts.drainedBy(node.outcome.Plan, drained.Pool); by != nil && by.drain.force {
			first = sooner(first, drained.Since.Add(by.drain.timeout), f.now)
		}
	}
	for _, one := range node.dependent { // it may wait for one by now
		if one.closedAt(f.now) {
			opens, _ := one.calendar.Next(f.now)
			first = sooner(first, opens, f.now)
		}
	}
	return first
}

// drainDue reports whether the drain of a node goes on now.
func (f *foresight) drainDue(node *foreseen) bool {
	return !node.drains.IsZero() && !node.drains.After(f.now)
}

// nextDrain is when the first drain goes on; zero where none does.
func (f *foresight) nextDrain() (first time.Time) {
	for _, node := range f.nodes {
		first = sooner(first, node.drains, f.now)
	}
	return first
}

// endDrains ends the drains that end now. It reports whether nobody has a turn by that: all
// of the nodes keep their places until they have been ready for long enough. Else it has to
// be decided.
func (f *foresight) endDrains() (decided bool) {
	decided = !approvable(f.waves)
	for _, node := range f.nodes {
		if f.drainDue(node) {
			if f.pass(node, nil) {
				f.retry()
			}
			decided = f.took(node) && decided
		}
	}
	return decided
}

// drained are the pools in whose rollouts the drain of a node ends with a write, sorted.
func (f *foresight) drained(p *NodePlan) []string {
	var pools []string
	for id, drained := range p.recorded.Change.Drains {
		if _, still := p.Record.Change.Drains[id]; still {
			continue
		}
		for _, one := range f.rollouts.concerned(p, (*rollout).orders) {
			if one.governs(f.rollouts.of(drained.Pool)) {
				pools = append(pools, one.name)
			}
		}
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}
