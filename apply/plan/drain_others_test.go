package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Force ends pods within a window only: of the pool that drains, of that with the taint, and of
// stronger ones.
func TestForceOutsideWindowsOfOthers(t *testing.T) {
	force := func(p *v1.NodePool) {
		p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{Timeout: &metav1.Duration{Duration: time.Minute}, OnTimeout: v1.ForceOnTimeout}}
	}
	taint := tainted("v", corev1.TaintEffectNoExecute)
	for name, pools := range map[string][]*v1.NodePool{
		"of the pool with the taint":              {waitingPool("fleet", all(prior(100), force)), waitingPool("p", all(prior(5), taint, closed))},
		"of a stronger pool that does not drain":  {waitingPool("fleet", all(prior(100), closed)), waitingPool("p", all(prior(5), taint, force))},
		"of a stronger pool that is paused by it": {waitingPool("fleet", all(prior(100), func(p *v1.NodePool) { p.Spec.Rollout = &v1.Rollout{Paused: true} })), waitingPool("p", all(prior(5), taint, force))},
	} {
		open := []*v1.NodePool{pools[0].DeepCopy(), pools[1].DeepCopy()}
		for _, pool := range open {
			if pool.Spec.Rollout != nil {
				pool.Spec.Rollout.Windows, pool.Spec.Rollout.Paused = nil, false
			}
		}
		node := begunDrain(t, open...)
		o := decide(node, closedAt.Add(2*time.Minute), nil, pools...)
		if hasNoExecute(carry(node, o), "v") {
			t.Errorf("forced outside the window %s", name)
		}
	}
}

// The first write breaks the node. In the pass that sees that, no pod is left: that the node is
// not ready by now is a failure all the same.
func TestEndOfDrainHidesNoFailure(t *testing.T) {
	p := drainingPool(prior(5))
	pools := []*v1.NodePool{p}
	rollouts := RolloutsOf(pools)
	node := begunDrain(t, p) // it was ready
	now := closedAt.Add(time.Minute)
	broken := FollowerOf(node, decide(node, now, nil, p), false)
	other := followed(t, longAgo, waitingPool("p", all(prior(5), labelled("1"))))
	other.Name = "o"
	waits := FollowerOf(other, decide(other, now, nil, p), true)
	if !rollouts.Turns(asking([]Follower{broken, waits}), nil, now, true).Halts["p"].Holds() {
		t.Fatal("not halted while it is drained")
	}
	o := NodeOutcomeOf(node, expand(p), NodeFacts{Rollouts: rollouts, Now: now, Drained: true, Unready: true})
	broken = FollowerOf(node, o, false)
	if turns := rollouts.Turns(asking([]Follower{broken, waits}), nil, now, true); !turns.Halts["p"].Holds() {
		t.Errorf("it was ready when it began, and is not: failed %t, halted %v, turn of %v", broken.Failed("p"), turns.Halts["p"], turns.Nodes)
	}
}

// A node follows two pools in one turn, and fails: the halt is of both.
func TestHaltIsOfAllThatWasFollowed(t *testing.T) {
	gpu := waitingPool("gpu", all(prior(1), labelPairs("k", "bad")))
	web := waitingPool("web", labelPairs("m", "2"))
	fleet := waitingPool("fleet", all(prior(100), limited("1", time.Minute)))
	rollouts := RolloutsOf([]*v1.NodePool{fleet, gpu, web})
	nodes := func() []Follower {
		a, b := follower(rollouts, "a", "", "fleet", "gpu", "web"), follower(rollouts, "b", "", "fleet", "gpu", "web")
		at := closedAt.Add(-2 * time.Minute)
		a.Change = LastChange{At: at, Pools: map[string]FollowedPool{"gpu": {At: at, Spec: specHash(gpu)}, "web": {At: at, Spec: specHash(web)}}}
		a.Unready, a.Unavailable = true, true
		b.Asks, b.Waits = asksFor("fleet"), []string{"gpu", "web"}
		return []Follower{a, b}
	}
	seen := map[string]bool{}
	for range 100 {
		halt := rollouts.Turns(asking(nodes()), nil, closedAt, true).Halts["fleet"]
		if !halt.Holds() {
			t.Fatal("not halted")
		}
		seen[halt.Status().Changes] = true
		if !slices.Contains(halt.Changes, specHash(gpu)) {
			edited := waitingPool("web", labelPairs("m", "3"))
			later := RolloutsOf([]*v1.NodePool{fleet, gpu, edited})
			after := nodes()
			after[0].Unready, after[0].Unavailable = false, false // it is ready for a moment
			if turns := later.Turns(asking(after), map[string]*Halt{"fleet": halt}, closedAt, true); turns.Nodes["b"] != nil {
				t.Errorf("gpu still says what has failed, web was edited, and b follows")
				break
			}
		}
	}
	if len(seen) > 1 {
		t.Errorf("the same nodes halt the rollout for %v, at random", seen)
	}
}

// begunDrain is a node on which the drain for a pool p has begun at closedAt.
func begunDrain(t *testing.T, pools ...*v1.NodePool) *NodeState {
	t.Helper()
	before := []*v1.NodePool{waitingPool("p", all(labelled("1"), prior(5)))}
	for _, pool := range pools {
		if pool.Name != "p" {
			before = append(before, waitingPool(pool.Name, prior(pool.Spec.Priority)))
		}
	}
	node := followed(t, longAgo, before...)
	names := []string{}
	for _, pool := range pools {
		names = append(names, pool.Name)
	}
	o := decide(node, closedAt, names, pools...)
	if o.Drain == nil || !slices.Contains(o.Admission.Plan.Record.Change.Drained(), "p") {
		t.Fatalf("not drained: %v", o.Admission.Plan.Changes)
	}
	return carry(node, o)
}

func hasNoExecute(node *NodeState, value string) bool {
	return slices.ContainsFunc(node.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute && t.Value == value })
}

// carry carries an outcome out, as the node reconciler does.
func carry(node *NodeState, o NodeOutcome) *NodeState {
	if o.Admission.Plan == nil || o.Admission.Plan.NoOp() {
		return node
	}
	return o.Admission.Plan.After(node)
}

// The RuntimeClass of a pool tolerates what keeps pods off while a node is drained, and what is
// left of it when the drain has ended and the pool waits for something else.
func TestClassToleratesWhatKeepsPodsOff(t *testing.T) {
	pool := drainingPool(all(prior(5), inWindows))
	node := begunDrain(t, drainingPool(prior(5)))
	tolerates := func(o NodeOutcome) bool {
		class := steppedClass(nil, expand(pool).RuntimeClass("p"), v1.RoleLabel("p"), []string{"p"}, []*ClassStep{o.Step})
		return o.Step != nil && slices.ContainsFunc(class.Scheduling.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == key && t.Value == "v" && t.Effect == corev1.TaintEffectNoSchedule
		})
	}
	o := decide(node, closedAt.Add(time.Minute), nil, pool)
	if o.Drain == nil || !tolerates(o) {
		t.Errorf("while it is drained, the step is %+v", o.Step)
	}
	pool = drainingPool(all(prior(5), labelled("3"), inWindows))
	o = NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Drained: true, Now: closedAt.Add(time.Minute)})
	node = carry(node, o)
	if o = decide(node, closedAt.Add(2*time.Minute), nil, pool); !hasNoExecute(node, "v") || !tolerates(o) {
		t.Errorf("when it is drained, and waits, it has the taints %v, and the step is %+v", taintsOf(node), o.Step)
	}
}

// What is refused of one pool is left out also while the node is drained for another.
func TestDrainLeavesOutWhatIsRefused(t *testing.T) {
	refused := func(value string) *v1.NodePool { return waitingPool("r", labelPairs("r", value)) }
	pools := []*v1.NodePool{drainingPool(nil), refused("2")}
	node := followed(t, longAgo, waitingPool("p", all(prior(5), labelled("1"))), refused("1"))
	for _, value := range []string{"1", "by hand"} {
		node = node.DeepCopy()
		node.Labels["example.com/r"] = value
		o := NodeOutcomeOf(node, expand(pools...), NodeFacts{
			Rollouts: AllRollouts(pools), Now: closedAt, Turn: turnFor("p"), Refused: map[string]Refusal{"r": {}},
		})
		if after := carry(node, o); o.Drain == nil || !slices.Contains(taintsOf(after), "v:NoSchedule") || after.Labels["example.com/r"] != value {
			t.Errorf("the node had %q, has the labels %v and the taints %v, and is drained %+v", value, after.Labels, taintsOf(after), o.Drain)
		}
	}
}
