package plan

import (
	"errors"
	"maps"
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// NodeOutcomeState is the one thing that matters most about a node.
type NodeOutcomeState string

// The states of a node, the first that applies.
const (
	// NodeStateUnreadable: its record cannot be read, and nothing is written to it.
	NodeStateUnreadable NodeOutcomeState = "unreadable"
	// NodeStatePaused: its annotation pauses it, and nothing is written to it.
	NodeStatePaused NodeOutcomeState = "paused"
	// NodeStateChanging: there is something to write.
	NodeStateChanging NodeOutcomeState = "changing"
	// NodeStateWaiting: all that there is to write has to wait: it was put back too often of
	// late, or the node may not follow its pools yet.
	NodeStateWaiting NodeOutcomeState = "waiting"
	// NodeStateUnchanged: it is as the pools want it, but for conflicts.
	NodeStateUnchanged NodeOutcomeState = "unchanged"
)

// NodeOutcome is what becomes of a node. The node reconciler executes it, statuses and
// explain print it, and [Diff] carries it out on what it was given.
type NodeOutcome struct {
	State NodeOutcomeState
	// Paused reports whether the annotation of the node pauses it. The state of such a
	// node may be [NodeStateUnreadable].
	Paused bool
	// Unreadable is why the record cannot be read; nil where it can.
	Unreadable *RecordError
	// Plan is what the pools want of the node, whether or not it may be written now; nil
	// where the record cannot be read.
	Plan *NodePlan
	// Wait are the pools whose changes the node may not follow yet.
	Wait NodeWait
	// Asks are the pools whose changes wait for the turn of the node. Begins reports that the write
	// disturbs the node, which counts in rollouts in which nodes take turns, and begins to
	// follow at the time of the facts.
	Asks   []Ask
	Begins bool
	// Closes is when windows close, and some of what waits may go: see [Allowed].
	Closes time.Time
	// Drain is what has to happen before all of it is written that may be; nil for nothing.
	Drain *Drain
	// Selected are the waves that the node may be in, by pool, a bit for each; Unmet is what
	// it lacks of the conditions that pools name, by pool.
	Selected map[string]uint64
	Unmet    map[string]string
	// Settled are the pools that the node is in by what all nodes have followed of pools last,
	// sorted; nil where these are those by what they say now.
	Settled []string
	// Step is what the node keeps while it waits, as far as RuntimeClasses have to do with
	// it; nil for nothing.
	Step *ClassStep
	// Members are the pools that the node is in as it is treated, sorted: by the plan,
	// or, where nothing is written, as it stands.
	Members []string
	// Admission is what of the plan is to be written; its plan is nil where nothing is.
	Admission Admission
}

// NodeFacts are what a controller knows of a node besides what stands in the cluster.
// The zero value is nothing, and then nothing waits.
type NodeFacts struct {
	// Rollouts say which changes have to wait at the time Now. Turn is that of the node.
	// Unready reports that the node is not ready.
	Rollouts *Rollouts
	Turn     Turn
	Unready  bool
	// Refused are the pools of which the API server does not take what they change on the
	// node, by name, and what it says: nothing of that is written, so that no pool keeps what
	// others want off the node. They need the Rollouts of [AllRollouts].
	Refused map[string]Refusal
	// Drained reports that no pod is left on the node that a [Drain] is about, and Evicted
	// that they were asked to go.
	Drained, Evicted bool
	// Backoff says which of the Repairs have to wait at the time Now.
	Backoff RepairBackoff
	Repairs *Repairs
	Now     time.Time
	// LastChange is the last one that it has followed in its turn, by what was written.
	LastChange LastChange
}

// NodeOutcomeOf decides what becomes of a node.
func NodeOutcomeOf(node *NodeState, pools *render.Expansion, facts NodeFacts) NodeOutcome {
	o := NodeOutcome{Paused: v1.IsDisabled(node, v1.ReconcileAnnotation)}
	p, err := facts.plan(node, pools)
	switch {
	case err != nil:
		o.State, o.Unreadable, o.Members = NodeStateUnreadable, unreadable(node, err), CurrentMembers(node, pools)
		o.Settled = facts.Rollouts.settledIn(node.Name, node.Labels)
		o.Selected, o.Unmet = facts.Rollouts.selected(slices.Concat(o.Members, o.Settled), node.Labels), facts.Rollouts.unmet(o.Members, node.Conditions)
		return o
	case o.Paused:
		o.Settled = facts.Rollouts.settledIn(node.Name, p.recorded.underlyingLabels(node.Labels))
		o.State, o.Plan, o.Members = NodeStatePaused, p, CurrentMembers(node, pools)
		o.Selected, o.Unmet = facts.Rollouts.selectedBy(node, p), facts.Rollouts.unmet(p.concerned(), node.Conditions)
		return o
	}
	o.Plan, o.Members = p, p.Pools
	o.Settled = facts.Rollouts.settledIn(node.Name, p.recorded.underlyingLabels(node.Labels))
	o.Selected, o.Unmet = facts.Rollouts.selectedBy(node, p), facts.Rollouts.unmet(p.concerned(), node.Conditions)
	allowed := facts.Rollouts.Allow(node, p, facts.Now, facts.Turn, standingRefusals(p, facts.Refused))
	o.Wait, o.Asks, o.Closes = allowed.Wait, allowed.Asks, allowed.Closes
	allowed.unmet = o.Unmet
	staged, drain := facts.staged(node, allowed)
	o.Admission = facts.admit(node, staged)
	o.Admission.Plan, o.Begins = facts.stamp(p, o.Admission.Plan, allowed, drain)
	o.Drain = drain
	o.Step = stepOf(node, p, staged)
	switch {
	case !o.Admission.Plan.NoOp():
		o.State = NodeStateChanging
	case !p.NoOp():
		o.State = NodeStateWaiting
	default:
		o.State = NodeStateUnchanged
	}
	return o
}

// forgottenAfter is when it makes no difference any more that a node has followed a change:
// longer than any soak.
const forgottenAfter = 32 * 24 * time.Hour

// stamp notes in the record of a plan when the node last began to follow a change in its
// turn, and of what it is drained, and reports whether that begins or ends with this write.
// A plan that writes nothing, and changes nothing of that, notes nothing.
func (f NodeFacts) stamp(full, p *NodePlan, allowed Allowed, drain *Drain) (_ *NodePlan, begins bool) {
	begins = len(allowed.Begins) > 0
	change := f.kept(p, allowed.Wait)
	drains := f.drains(full, p, allowed.Wait, drain)
	moves := !change.equalDrains(LastChange{Drains: drains})
	if p.NoOp() && !moves || !begins && !moves && change.At.IsZero() {
		return p, false
	}
	switch {
	case begins:
		change = f.begun(full, allowed)
	case len(drains) == 0 && f.Now.Sub(change.At) > forgottenAfter:
		change = LastChange{}
	}
	if moves {
		change = change.drained(drains, p.recorded.Change.at(f.Now).At)
	}
	stamped := *p
	stamped.Record.Change, stamped.rewritten = change, stamped.rewritten || moves
	return &stamped, (begins || moves) && !stamped.NoOp()
}

// admit leaves out of a plan what has to wait.
func (f NodeFacts) admit(node *NodeState, p *NodePlan) Admission {
	if f.Backoff == (RepairBackoff{}) {
		return Admission{Plan: p}
	}
	return f.Backoff.Admit(node, p, f.Repairs, f.Now)
}

// CarriedBefore are the pools that the node carries keys of as it stands, sorted; none
// where that cannot be read.
func (o NodeOutcome) CarriedBefore() []string {
	if o.Plan == nil {
		return nil
	}
	return poolsOf(o.Plan.live)
}

// CarriedAfter are the pools that the node carries keys of once the outcome is
// executed, sorted; none where that cannot be read.
func (o NodeOutcome) CarriedAfter() []string {
	if o.Admission.Plan == nil {
		return o.CarriedBefore()
	}
	return poolsOf(o.Admission.Plan.Record)
}

func poolsOf(record Record) []string { return slices.Sorted(maps.Keys(record.Pools())) }

// CurrentMembers returns the pools that a node is in as it stands, sorted. What pools
// have put on a node whose record cannot be read is not known, and taken for the node's
// own.
func CurrentMembers(node *NodeState, pools *render.Expansion) []string {
	members, err := Members(node, pools)
	if err != nil {
		return pools.Members(node.Name, node.Labels)
	}
	return members
}

// unreadable is the error of a record that cannot be read.
func unreadable(node *NodeState, err error) *RecordError {
	record := (*RecordError)(nil)
	if !errors.As(err, &record) {
		record = &RecordError{Node: node.Name, Err: err} // never: that is the only error
	}
	return record
}
