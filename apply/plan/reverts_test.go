package plan

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const longAgo = 365 * 24 * time.Hour

// labelPairs gives a pool labels, as key and value.
func labelPairs(pairs ...string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{}
		for i := 0; i < len(pairs); i += 2 {
			pool.Spec.Labels["example.com/"+pairs[i]] = v1.LabelValue(pairs[i+1])
		}
	}
}

// guarded is a pool fleet of the highest priority that has windows and lets one node follow
// at a time, with two waves.
func guarded() *v1.NodePool {
	return waitingPool("fleet", all(prior(100), closed, func(p *v1.NodePool) {
		p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1))
		p.Spec.Rollout.Waves = []v1.Wave{waveOf("canary", "1", func(w *v1.Wave) { w.Approval = v1.ApprovalRequired })}
	}))
}

// decide decides on a node.
func decide(node *NodeState, now time.Time, turns []string, pools ...*v1.NodePool) NodeOutcome {
	if len(turns) == 0 {
		return decideIn(node, now, nil, pools...)
	}
	return decideIn(node, now, append(turnOfAll(pools), turnFor(turns...)...), pools...)
}

// turnOfAll is a turn in which the changes of all pools may go.
func turnOfAll(pools []*v1.NodePool) (turn Turn) {
	for _, pool := range pools {
		turn = append(turn, Ask{Pool: pool.Name})
	}
	return turn
}

func decideIn(node *NodeState, now time.Time, turn Turn, pools ...*v1.NodePool) NodeOutcome {
	return NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turn, Now: now})
}

// inWindow has a node follow in its turn, in an open window.
func inWindow(t *testing.T, node *NodeState, now time.Time, pools ...*v1.NodePool) *NodeState {
	t.Helper()
	o := decide(node, now, []string{"fleet"}, pools...)
	if !o.Begins || len(o.Wait) > 0 {
		t.Fatalf("it does not begin in the window: %v %v", o.Wait, o.Asks)
	}
	return o.Admission.Plan.After(node)
}

// outside fails where a node may follow what it never had, outside the window, and tells
// what it would carry.
func outside(t *testing.T, node *NodeState, now time.Time, pools ...*v1.NodePool) {
	t.Helper()
	o := decide(node, now, nil, pools...)
	if len(reverting(o)) > 0 {
		turned := decide(node, now, asked(o), pools...)
		t.Errorf("outside the window, it asks %v to go back to what it had; in its turn it writes %v, and goes from %v to %v",
			o.Asks, turned.Begins, node.Labels, turned.Admission.Plan.After(node).Labels)
	}
}

// The change that failed, once more after its revert, is no revert of that.
func TestRevertOfARevertIsNone(t *testing.T) {
	fleet := guarded()
	x := func(v string) *v1.NodePool { return waitingPool("x", all(prior(2), labelled(v))) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), x("good"))
	node = inWindow(t, node, opensAt, fleet, x("bad"))
	o := decide(node, opensAt.Add(2*time.Hour), []string{"fleet"}, fleet, x("good"))
	if !o.Begins {
		t.Fatal("the revert does not come")
	}
	node = o.Admission.Plan.After(node)
	outside(t, node, opensAt.Add(5*24*time.Hour), fleet, x("bad"))
}

// The seven days do not begin anew with a change of another pool.
func TestNoRevertAfterMonths(t *testing.T) {
	fleet := guarded()
	x := func(v string) *v1.NodePool { return waitingPool("x", all(prior(2), labelPairs("k", v))) }
	y := func(v string) *v1.NodePool { return waitingPool("y", all(prior(1), labelPairs("m", v))) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), x("1"), y("1"))
	node = inWindow(t, node, opensAt, fleet, x("2"), y("1"))
	node = inWindow(t, node, opensAt.Add(90*24*time.Hour), fleet, x("2"), y("2"))
	outside(t, node, opensAt.Add(91*24*time.Hour+5*time.Hour), fleet, x("1"), y("2"))
}

// A node goes back in a halted rollout, though the change of another pool waits on it, too.
func TestRevertGoesPastAnotherPool(t *testing.T) {
	fleet := guarded()
	fleet.Spec.Rollout.Windows = nil
	x := func(v string) *v1.NodePool { return waitingPool("x", all(prior(2), labelPairs("k", v))) }
	y := func(v string) *v1.NodePool { return waitingPool("y", all(prior(1), labelPairs("m", v))) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), x("good"), y("1"))
	node = inWindow(t, node, opensAt, fleet, x("bad"), y("1"))
	pools := []*v1.NodePool{fleet, x("good"), y("2")} // x is reverted; y has been changed since
	o := decide(node, opensAt.Add(time.Minute), nil, pools...)
	rollouts := RolloutsOf(pools)
	failed := Follower{Name: "n", Pools: o.Members, Asks: o.Asks, Unready: true, Unavailable: true, Change: LastChangeOf(node)}
	for _, w := range o.Wait {
		failed.Waits = append(failed.Waits, w.Pool)
	}
	halt := map[string]*Halt{"fleet": {Time: opensAt, Changes: []string{specHash(pools[1]), specHash(pools[2])}, Nodes: 1, Node: "n"}}
	if turns := rollouts.Turns(asking([]Follower{failed}), halt, opensAt.Add(time.Minute), true); turns.Nodes["n"] == nil {
		t.Errorf("x was reverted, and the node that has failed by it stays as it is: it waits for %v, reverts: %v, halted: %v", failed.Waits, reverting(o), turns.Halts["fleet"])
	}
}

// A turn that was given for a revert serves no other change, though the window of that opens
// before the pass.
func TestTurnOfARevertServesNothingElse(t *testing.T) {
	fleet := guarded()
	fleet.Spec.Rollout.Windows = nil
	x := func(v string) *v1.NodePool { return waitingPool("x", all(prior(2), labelPairs("k", v))) }
	y := func(v string) *v1.NodePool { return waitingPool("y", all(prior(1), labelPairs("m", v), closed)) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), x("good"), y("1"))
	node = inWindow(t, node, closedAt, fleet, x("bad"), y("1"))
	pools := []*v1.NodePool{fleet, x("good"), y("2")}
	o := decide(node, opensAt.Add(-time.Millisecond), nil, pools...)
	if !slices.Equal(reverting(o), []string{"x"}) || !slices.Equal(asked(o), []string{"x"}) {
		t.Fatalf("it asks %v, reverts: %v", o.Asks, reverting(o))
	}
	halt := map[string]*Halt{"fleet": {Time: opensAt, Changes: []string{specHash(pools[2])}, Nodes: 1, Node: "n"}}
	f := Follower{Name: "n", Pools: o.Members, Asks: o.Asks, Waits: []string{"x", "y"}, Change: LastChangeOf(node)}
	turns := RolloutsOf(pools).Turns(asking([]Follower{f}), halt, opensAt.Add(-time.Millisecond), true)
	if !turns.Halts["fleet"].Holds() {
		t.Fatal("not halted")
	}
	if o = decideIn(node, opensAt.Add(time.Millisecond), turns.Nodes["n"], pools...); o.Begins && o.Admission.Plan.After(node).Labels["example.com/m"] == "2" {
		t.Errorf("fleet is halted, and y, which puts back nothing, is followed by the turn of x: %v", o.Admission.Plan.Changes)
	}
}

// What the node had before is what pools had put there, and not what somebody had changed by
// hand just then.
func TestHandChangeIsNotWhatWasBefore(t *testing.T) {
	fleet := guarded()
	x := func(v string) *v1.NodePool { return waitingPool("x", all(prior(2), labelled(v))) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), x("good"))
	node.Labels[key] = "by-hand" // by the kubelet, just before the write
	node = inWindow(t, node, opensAt, fleet, x("bad"))
	if o := decide(node, opensAt.Add(2*time.Hour), nil, fleet, x("good")); len(reverting(o)) == 0 {
		t.Errorf("it was the pool's %q, and to have that again is no revert: %v", "good", o.Wait)
	}
	outside(t, node, opensAt.Add(2*time.Hour), fleet, x("by-hand"))
}

// Nodes go back though more of them have failed than the budget has places.
func TestFailedNodesGoBackPastTheBudget(t *testing.T) {
	pool := waitingPool("p", limited("1", time.Minute))
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	var nodes []Follower
	for _, name := range []string{"a", "b", "c", "d"} {
		f := follower(rollouts, name, "", "p")
		f.Change = LastChange{At: closedAt.Add(-10 * time.Minute), Pools: map[string]FollowedPool{"p": {At: closedAt.Add(-10 * time.Minute), Spec: "bad"}}}
		if name < "c" { // each began a minute after the other; 5 minutes later they failed
			f.Unready, f.Unavailable = true, true
		}
		f.Asks, f.Waits = back(asksFor("p")), []string{"p"}
		nodes = append(nodes, f)
	}
	if turns := rollouts.Turns(asking(nodes), nil, closedAt, true); len(turns.Nodes) == 0 {
		t.Error("the change is reverted in Git, and no node goes back, for ever: those that it has broken take all places")
	}
}

// A canary that has failed goes back, though another node of the pool is cordoned.
func TestCanaryGoesBackPastACordonedNode(t *testing.T) {
	pool := waitingPool("p", all(limited("1", time.Minute), inWaves(waveOf("canary", "1", nil))))
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	a, b, z := follower(rollouts, "a", "", "p"), follower(rollouts, "b", "", "p"), follower(rollouts, "z", "", "p")
	a.Change = LastChange{At: closedAt.Add(-10 * time.Minute), Pools: map[string]FollowedPool{"p": {At: closedAt.Add(-10 * time.Minute), Spec: "bad"}}}
	a.Unready, a.Unavailable, z.Unavailable = true, true, true
	a.Asks, a.Waits = back(asksFor("p")), []string{"p"}
	if turns := rollouts.Turns(asking([]Follower{a, b, z}), nil, closedAt, true); turns.Nodes["a"] == nil {
		t.Error("the change is reverted in Git, and the canary that it has broken does not go back, as another node is cordoned")
	}
}

// The outer pool is reverted; the same commit gives the inner one an annotation, which
// disrupts nothing: it is a revert all the same.
func TestRevertWithAnAnnotationWithin(t *testing.T) {
	fleet := guarded()
	fleet.Spec.Rollout.Windows = nil
	outer := func(v string) *v1.NodePool { return waitingPool("outer", all(prior(2), labelPairs("k", v))) }
	inner := func(v string) *v1.NodePool { return waitingPool("inner", all(inside("outer"), annotated(v))) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), outer("good"), inner("1"))
	node = inWindow(t, node, opensAt, fleet, outer("bad"), inner("1"))
	if o := decide(node, opensAt.Add(time.Minute), nil, fleet, outer("good"), inner("2")); len(reverting(o)) == 0 {
		t.Errorf("outer puts back what the node had, inner changes an annotation; asks %v, reverts: %v", o.Asks, reverting(o))
	}
}

// A revert that the budget holds up for more than seven days is none any more, whatever a
// pass has found before.
func TestRevertThatIsNoneAnyMore(t *testing.T) {
	fleet := guarded()
	fleet.Spec.Rollout.Windows = nil
	x := func(v string) *v1.NodePool { return waitingPool("x", all(prior(2), labelPairs("k", v))) }
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), x("good"))
	node = inWindow(t, node, closedAt, fleet, x("bad"))
	pools := []*v1.NodePool{fleet, x("good")}
	o := decide(node, closedAt.Add(24*time.Hour), nil, pools...)
	if len(reverting(o)) == 0 {
		t.Fatal("no revert")
	}
	f := Follower{Name: "n", Pools: o.Members, Asks: o.Asks, Waits: []string{"x"}, Change: LastChangeOf(node)}
	later := closedAt.Add(revertPeriod + 24*time.Hour) // nothing has happened to the node since
	halt := map[string]*Halt{"fleet": {Time: later, Changes: []string{specHash(pools[1])}, Nodes: 1, Node: "m"}}
	turns := RolloutsOf(pools).Turns(asking([]Follower{f}), halt, later, true)
	if o = decideIn(node, later, turns.Nodes["n"], pools...); o.Begins {
		t.Error("the rollout is halted, and the node begins, by a pass that says that it is no revert")
	}
}

// A pool that goes back, and waits with the one around it for a window, asks for no turn.
func TestRevertWithinAClosedPoolAsksForNoTurn(t *testing.T) {
	inner := func(value string) *v1.NodePool {
		return waitingPool("inner", all(inside("outer"), labelPairs("inner", value), limited("1", time.Minute)))
	}
	outer := func(value string) *v1.NodePool { return waitingPool("outer", labelPairs("outer", value)) }
	node := followed(t, longAgo, inner("1"), outer("1"))
	node = carry(node, decide(node, closedAt.Add(-time.Hour), []string{"inner"}, inner("2"), outer("1")))
	closed := outer("2")
	closed.Spec.Rollout = nightly()
	for _, turn := range [][]string{nil, {"inner"}} {
		o := decide(node, closedAt, turn, inner("1"), closed)
		if wait := o.Wait.Of("inner"); wait == nil || wait.Until.IsZero() || len(o.Asks) > 0 || !o.Admission.Plan.NoOp() {
			t.Errorf("in the turn of %v, it waits for %v, and asks %v", turn, wait, o.Asks)
		}
	}
}
