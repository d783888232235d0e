package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/nodepools/nodepools/render"
)

// foresight steps through the rollouts of a cluster, as a controller would, with a clock
// of its own that goes from one moment to the next at which something can happen. It
// decides nothing: what a node may do is said by [NodeOutcomeOf], and whose turn it is by
// [Rollouts.Turns].
type foresight struct {
	rollouts *Rollouts
	pools    *render.Expansion
	unready  map[string]bool
	now      time.Time
	nodes    []*foreseen // sorted by name
	byName   map[string]*foreseen
	// tried are the calendars that have been open together since something has happened
	// last: their nodes did not begin, and would not at the next opening.
	openings map[string]*opening
	tried    map[*opening]bool
	// bounds are when pools close or open next; idle counts the steps since something has
	// happened last.
	bounds map[*rollout]time.Time
	idle   int
	// approved are the approvals of waves that are assumed, by pool and the index of the wave.
	approved map[string]map[int][]string
	// again is when it has to be decided anew though no calendar opens; zero for never.
	again time.Time
	// waves are how far waves are by the last decision.
	waves map[string]*WaveState
	// halts are those of pools by the last decision, and before it those in their statuses.
	halts map[string]*Halt
	// work counts for how many nodes it was decided whose turn it is.
	work int
	// onWrite is called with each node that is written, the pools in whose rollouts it has
	// followed something with that, and those in whose rollouts its drain has ended.
	onWrite func(node *foreseen, pools, drained []string)
}

// maxForesight bounds the work: for how many nodes, once for each step, it is decided whose
// turn it is. For 5,000 nodes that are some 600 steps.
const maxForesight = 3_000_000

// foreseen is a node while time goes on.
type foreseen struct {
	state    *NodeState
	outcome  NodeOutcome
	follower Follower
	// changed is what a controller remembers of a node beyond its record: what it followed last.
	changed LastChange
	// ordered are, by each pool of which a disruptive change is pending, those whose
	// rollouts it waits for, the strongest first.
	ordered map[string][]*rollout
	// openings are the calendars that have to be open together, for each of these pools.
	openings []*opening
	// dependent are the pools with a calendar among all that it waits for.
	dependent []*rollout
	// outcomes are those since the state last changed, by which pools are closed. They are
	// not kept of a node that may join: what waits there depends on its age.
	outcomes map[string]NodeOutcome
	// closed stands for the pools that were closed when it was last decided.
	closed string
	// unused reports that it was its turn, and that it did not begin: it asks again later.
	unused bool
	// drains is when the drain of the node goes on, at the earliest; zero where it is not
	// drained, or where nothing that is foretold ends that.
	drains time.Time
}

func newForesight(cluster Cluster, pools *render.Expansion, rollouts *Rollouts, now time.Time) *foresight {
	f := &foresight{
		rollouts: rollouts, pools: pools, unready: cluster.Unready, now: now, byName: make(map[string]*foreseen, len(cluster.Nodes)),
		openings: map[string]*opening{}, tried: map[*opening]bool{}, bounds: map[*rollout]time.Time{}, approved: map[string]map[int][]string{},
		halts: HaltsOf(cluster.Pools), onWrite: func(*foreseen, []string, []string) {},
	}
	for _, node := range cluster.Nodes {
		one := &foreseen{state: node}
		f.nodes = append(f.nodes, one)
		f.byName[node.Name] = one
	}
	slices.SortFunc(f.nodes, func(a, b *foreseen) int { return strings.Compare(a.state.Name, b.state.Name) })
	return f
}

// look decides what becomes of each node now, and writes nothing.
func (f *foresight) look() {
	for _, node := range f.nodes {
		node.outcome = f.outcomeOf(node, nil)
		f.note(node)
	}
}

// run goes on until nothing happens any more. It reports whether the end was reached.
func (f *foresight) run() bool {
	for decided := false; ; {
		if !decided {
			f.idle++
			if f.step() {
				f.retry()
			}
		}
		if f.work > maxForesight {
			return false
		}
		next, drain := f.next(), f.nextDrain()
		decided = false
		switch {
		case !drain.IsZero() && (next.IsZero() || drain.Before(next)):
			f.now = drain
			decided = f.endDrains()
		case next.IsZero():
			return true
		default:
			if next.Equal(f.again) {
				f.retry()
			}
			f.now = next
		}
	}
}

// retry forgets what has been tried: it may be of use now.
func (f *foresight) retry() {
	clear(f.tried)
	f.idle = 0
}

// next is the next moment at which something can happen; zero where there is none. What
// is open now is tried.
func (f *foresight) next() time.Time {
	first := f.again
	for _, node := range f.nodes {
		for _, one := range node.openings {
			if f.tried[one] {
				continue
			}
			at, found := one.next(f.now)
			if !found || !at.After(f.now) {
				f.tried[one] = true
				continue
			}
			first = sooner(first, at, f.now)
		}
		first = sooner(first, f.bound(node), f.now)
	}
	return first
}

// maxIdle is how many steps are looked at in which nothing happens, for the sake of what
// [foresight.bound] is about.
const maxIdle = 50

// bound is when a pool closes or opens that a node depends on, where changes of several
// pools wait on it: what waits for a window asks for no turn, and so keeps no other change
// waiting. It is zero where it makes no difference.
func (f *foresight) bound(node *foreseen) (first time.Time) {
	if len(node.ordered) < 2 || f.idle > maxIdle {
		return first
	}
	for _, one := range node.dependent {
		if at, known := f.bounds[one]; !known || !at.IsZero() && !at.After(f.now) {
			if one.closedAt(f.now) {
				f.bounds[one], _ = one.calendar.Next(f.now)
			} else {
				f.bounds[one] = one.calendar.Until(f.now)
			}
		}
		first = sooner(first, f.bounds[one], f.now)
	}
	return first
}

// step does all that happens now, and reports whether a node begins, or an approval was
// assumed.
func (f *foresight) step() (happened bool) {
	for _, node := range f.nodes {
		if !f.due(node) {
			continue
		}
		node.unused = false
		happened = f.pass(node, nil) || happened
	}
	for f.work <= maxForesight {
		turns := f.turns()
		moved, done := false, len(turns.Nodes) > 0
		for _, node := range f.nodes {
			if turn := turns.Nodes[node.state.Name]; len(turn) > 0 {
				asked, left := node.outcome.Asks, f.hasLeft(node)
				began := f.pass(node, turn)
				node.unused = !began
				happened = happened || began
				moved = moved || began || !slices.EqualFunc(asked, node.outcome.Asks, Ask.equal)
				done = done && !left && f.took(node)
			}
		}
		switch {
		case done && !approvable(turns.Waves):
			return happened
		case moved:
			continue
		}
		if !f.approve(turns.Waves) {
			break
		}
		happened = true
	}
	return happened
}

// due reports whether a pass over a node may find something else than the last one.
func (f *foresight) due(node *foreseen) bool {
	switch {
	case f.drainDue(node):
		return true
	case node.idle():
		return false
	}
	return node.unused || node.closed != f.closed(node) || f.mayJoin(node) || writes(node.outcome)
}

// writes reports whether an outcome writes something.
func writes(o NodeOutcome) bool { return o.Admission.Plan != nil && !o.Admission.Plan.NoOp() }

// idle reports whether a node has nothing to follow.
func (n *foreseen) idle() bool { return len(n.outcome.Wait) == 0 && !writes(n.outcome) }

// pass is one of a controller over a node, and those that follow at once: it writes what
// may be written, until that is nothing. It reports whether the node began to follow
// something that had to wait.
func (f *foresight) pass(node *foreseen, turn Turn) (began bool) {
	node.outcome = f.outcomeOf(node, turn)
	for range maxRounds {
		if !writes(node.outcome) {
			break
		}
		p, ordered := node.outcome.Admission.Plan, node.ordered
		begins := node.outcome.Begins
		if begins {
			node.changed = p.Record.Change
		}
		drained := f.drained(p)
		node.state, node.outcomes = p.After(node.state), nil
		node.outcome = f.outcomeOf(node, nil)
		pools := passed(ordered, node.ordered)
		began = began || begins || len(pools) > 0
		f.onWrite(node, pools, drained)
	}
	f.note(node)
	return began
}

// passed are the pools in whose rollouts less waits than before, sorted.
func passed(before, after map[string][]*rollout) []string {
	var pools []string
	for changing, ordering := range before {
		if _, still := after[changing]; still {
			continue
		}
		for _, one := range ordering {
			pools = append(pools, one.name)
		}
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// outcomeOf decides what becomes of a node now.
func (f *foresight) outcomeOf(node *foreseen, turn Turn) NodeOutcome {
	if len(turn) > 0 {
		return f.decide(node, turn)
	}
	if node.outcomes == nil || f.mayJoin(node) || f.drainDue(node) {
		outcome := f.decide(node, turn)
		f.order(node, outcome)
		node.closed = f.closed(node)
		node.outcomes = map[string]NodeOutcome{node.closed: outcome}
		return outcome
	}
	node.closed = f.closed(node)
	outcome, known := node.outcomes[node.closed]
	if !known {
		outcome = f.decide(node, turn)
		node.outcomes[node.closed] = outcome
	}
	return outcome
}

// ready reports whether a node is ready.
func (f *foresight) ready(node *foreseen) bool { return !f.unready[node.state.Name] }

func (f *foresight) mayJoin(node *foreseen) bool {
	return !node.state.Created.IsZero() && f.now.Sub(node.state.Created.Time) <= unattendedPeriod+joiningPeriod
}

// closed stands for which of the pools are closed that a node depends on.
func (f *foresight) closed(node *foreseen) string {
	var text strings.Builder
	for _, one := range node.dependent {
		if one.closedAt(f.now) {
			text.WriteString(one.name + "/")
		}
	}
	return text.String()
}

// order works out what the changes of a node wait for.
func (f *foresight) order(node *foreseen, outcome NodeOutcome) {
	node.ordered, node.openings, node.dependent = nil, nil, nil
	if outcome.Plan == nil || outcome.Paused {
		return
	}
	node.ordered = f.rollouts.orderedBy(node.state, outcome.Plan, f.now)
	node.dependent = f.rollouts.concerned(outcome.Plan, func(one *rollout) bool { return one.calendar != nil && !one.paused })
	for _, ordering := range node.ordered {
		if one := f.openingOf(ordering); one != nil && !slices.Contains(node.openings, one) {
			node.openings = append(node.openings, one)
		}
	}
}

// note keeps a node as turns see it.
func (f *foresight) note(node *foreseen) {
	node.follower = FollowerOf(node.state, node.outcome, f.ready(node))
	if node.changed.At.After(node.follower.Change.At) {
		node.follower.Change = node.changed
	}
	node.drains = f.goesOn(node)
}
