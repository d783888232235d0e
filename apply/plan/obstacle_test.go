package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// obstructed is a node in a pool p that is to be drained of v, where a taint stands or comes
// that lets other pods come.
type obstructed struct {
	node  *NodeState
	pools []*v1.NodePool
	// of is what names whose taint it is.
	of string
}

func foreignTaint(node *NodeState, value string, effect corev1.TaintEffect) *NodeState {
	node = node.DeepCopy()
	node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	return node
}

func obstructedNodes(t *testing.T, change func(*v1.NodePool)) map[string]obstructed {
	t.Helper()
	p := drainingPool(all(prior(5), change))
	before := waitingPool("p", all(labelled("1"), prior(5)))
	node := followed(t, longAgo, before)
	strong := waitingPool("strong", all(prior(9), tainted("w", corev1.TaintEffectNoSchedule)))
	return map[string]obstructed{
		"of somebody else":           {foreignTaint(node, "w", corev1.TaintEffectNoSchedule), []*v1.NodePool{p}, "somebody else"},
		"of a stronger pool":         {followed(t, longAgo, before, strong), []*v1.NodePool{p, strong}, "pool strong"},
		"that a stronger pool gives": {followed(t, longAgo, before, waitingPool("strong", prior(9))), []*v1.NodePool{p, strong}, "pool strong"},
		"of a suspended pool":        {followed(t, longAgo, before, strong), []*v1.NodePool{p, faulty(strong.DeepCopy())}, "suspended pool strong"},
	}
}

// A drain that a NoSchedule taint keeps from ending does not begin with Hold: nothing is
// written for the pool, no turn is asked for, no place taken; and the wait names the taint.
func TestObstructedDrainDoesNotBegin(t *testing.T) {
	for name, c := range obstructedNodes(t, nothing) {
		for pass, turn := range [][]string{nil, {"p"}, {"p"}} {
			now := closedAt.Add(time.Duration(pass) * time.Hour)
			o := decide(c.node, now, turn, c.pools...)
			c.node = carry(c.node, o)
			wait := o.Wait.Of("p")
			if wait == nil || wait.Obstacle == "" || !strings.Contains(wait.String(), c.of+" ") || !strings.Contains(wait.String(), "Force") || len(o.Asks) > 0 || o.Drain != nil {
				t.Errorf("a taint %s: it waits for %v, asks %v, is drained %+v", name, wait, o.Asks, o.Drain)
			}
			if c.node.Labels[key] != "1" || len(LastChangeOf(c.node).Drains) > 0 || hasNoExecute(c.node, "v") {
				t.Errorf("a taint %s: it has the labels %v, the taints %v, the record %+v", name, c.node.Labels, taintsOf(c.node), LastChangeOf(c.node))
			}
			if f := FollowerOf(c.node, o, true); pass > 0 && f.occupies(&rollout{}, now) || !slices.Equal(f.Waits, []string{"p"}) {
				t.Errorf("a taint %s: it takes a place, and waits for %v", name, f.Waits)
			}
		}
		d := &Difference{Pools: &PoolsPlan{}, accepted: &Acceptance{Pools: c.pools}, Nodes: []NodeDifference{{c.node.Name, decide(c.node, closedAt, nil, c.pools...).Plan}}}
		cluster := Cluster{Pools: c.pools, Nodes: []*NodeState{c.node}}
		if waits := d.Waits(cluster, closedAt); len(waits) != 1 || waits[0].Waits[0].Obstacle == "" {
			t.Errorf("a taint %s: a difference has the waits %+v", name, waits)
		}
		if drains := d.Drains(cluster, closedAt)[c.node.Name]; len(drains) != 1 || drains[0].Obstacle == "" {
			t.Errorf("a taint %s: a difference has the drains %+v", name, drains)
		}
		if e := Explain(c.node, expand(c.pools...), NodeFacts{Rollouts: RolloutsOf(c.pools), Now: closedAt}); e.Wait.Of("p") == nil {
			t.Errorf("a taint %s: explained without it", name)
		}
	}
}

// A weaker pool obstructs no drain, suspended or not.
func TestWeakerPoolObstructsNoDrain(t *testing.T) {
	p := drainingPool(prior(5))
	weak := waitingPool("weak", all(prior(1), tainted("w", corev1.TaintEffectNoSchedule)))
	for _, weak := range []*v1.NodePool{weak, faulty(weak.DeepCopy())} {
		node := followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5))), waitingPool("weak", all(prior(1), tainted("w", corev1.TaintEffectNoSchedule))))
		node = carry(node, decide(node, closedAt, []string{"p"}, p, weak))
		if !slices.Contains(taintsOf(node), "v:NoSchedule") || len(LastChangeOf(node).Drains) == 0 {
			t.Fatalf("it is not drained: %v", taintsOf(node))
		}
		facts := NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{p, weak}), Drained: true, Evicted: true, Now: closedAt.Add(time.Hour)}
		if node = carry(node, NodeOutcomeOf(node, expand(p, weak), facts)); !hasNoExecute(node, "v") {
			t.Errorf("drained, it has the taints %v", taintsOf(node))
		}
	}
}

// With Force it begins, as it ends with the timeout.
func TestObstructedDrainBeginsWithForce(t *testing.T) {
	for name, c := range obstructedNodes(t, func(p *v1.NodePool) { p.Spec.Rollout.Drain.OnTimeout = v1.ForceOnTimeout }) {
		o := decide(c.node, closedAt, []string{"p"}, c.pools...)
		if o.Drain == nil || o.Drain.Obstacle == "" || len(o.Drain.Taints) > 0 || !o.Begins {
			t.Fatalf("a taint %s: it begins %t, drained %+v", name, o.Begins, o.Drain)
		}
		node := carry(c.node, o)
		facts := NodeFacts{Rollouts: RolloutsOf(c.pools), Evicted: true, Now: closedAt.Add(2 * time.Hour)}
		node = carry(node, NodeOutcomeOf(node, expand(c.pools...), facts))
		if !hasNoExecute(node, "v") || len(LastChangeOf(node).Drains) > 0 {
			t.Errorf("a taint %s: after the timeout it has the taints %v", name, taintsOf(node))
		}
	}
}

// What keeps one pool from being followed keeps no other one, be it stronger or weaker; but all
// that want the taint, those within them, and the stronger one that gives its value up.
func TestObstructedDrainHoldsItsPoolsAlone(t *testing.T) {
	p := drainingPool(prior(5))
	was := waitingPool("p", all(labelled("1"), prior(5)))
	pair := func(name string, priority int32, value string, more ...func(*v1.NodePool)) *v1.NodePool {
		return waitingPool(name, all(append([]func(*v1.NodePool){prior(priority), labelPairs(name, value)}, more...)...))
	}
	noExecute := func(value string) func(*v1.NodePool) { return tainted(value, corev1.TaintEffectNoExecute) }
	for name, c := range map[string]struct {
		before, after *v1.NodePool
		waits         bool
	}{
		"a stronger pool":             {pair("q", 9, "1"), pair("q", 9, "2"), false},
		"a weaker pool":               {pair("q", 1, "1"), pair("q", 1, "2"), false},
		"one that wants it, too":      {pair("q", 5, "1"), pair("q", 5, "2", noExecute("v")), true},
		"one within":                  {pair("q", 6, "1", inside("p")), pair("q", 6, "2", inside("p")), true},
		"one within that waits, too":  {pair("q", 6, "1", inside("p")), pair("q", 6, "2", inside("p"), tainted("o", "NoSchedule")), true},
		"one that gives up its value": {pair("q", 9, "1", noExecute("s")), pair("q", 9, "2"), true},
		"another taint":               {pair("q", 1, "1"), pair("q", 1, "2", func(q *v1.NodePool) { q.Spec.Taints = []v1.Taint{{Key: "example.com/o", Effect: "NoSchedule"}} }), false},
		"another drain":               {pair("q", 1, "1"), pair("q", 1, "2", func(q *v1.NodePool) { q.Spec.Taints = []v1.Taint{{Key: "example.com/o", Effect: "NoExecute"}} }), false},
	} {
		node := foreignTaint(followed(t, longAgo, was, c.before), "theirs", corev1.TaintEffectNoSchedule)
		o := decide(node, closedAt, []string{"p", "q"}, p, c.after)
		node = carry(node, o)
		if follows := node.Labels["example.com/q"] == "2"; follows == c.waits || o.Wait.Of("q") != nil != c.waits || o.Wait.Of("p") == nil || node.Labels[key] == "2" || len(decide(node, closedAt, nil, p, c.after).Asks) > 0 {
			t.Errorf("%s: it has the labels %v, and waits for %v", name, node.Labels, o.Wait)
		}
		if drained := LastChangeOf(node).Drained(); slices.Contains(drained, "p") || (name == "another drain") != slices.Contains(drained, "q") {
			t.Errorf("%s: it is drained for %v", name, drained)
		}
	}
}

// When the obstacle goes, the drain begins in the turn of the node.
func TestObstacleGoes(t *testing.T) {
	for name, c := range obstructedNodes(t, nothing) {
		c.node = carry(c.node, decide(c.node, closedAt, []string{"p"}, c.pools...))
		c.node = c.node.DeepCopy()
		if name == "of somebody else" {
			c.node.Taints = nil
		}
		for i, pool := range c.pools[1:] {
			freed := pool.DeepCopy()
			freed.Spec.Taints, freed.Spec.Parent = nil, ""
			c.pools[i+1] = freed
		}
		o := decide(c.node, closedAt.Add(time.Minute), nil, c.pools...)
		if !slices.Equal(asked(o), []string{"p"}) && name != "of a stronger pool" && name != "that a stronger pool gives" {
			t.Errorf("a taint %s, gone: it waits for %v, and asks %v", name, o.Wait, o.Asks)
		}
		for range 2 { // what a stronger pool gives up goes at once
			c.node = carry(c.node, decide(c.node, closedAt.Add(time.Minute), []string{"p"}, c.pools...))
		}
		if !slices.Equal(LastChangeOf(c.node).Drained(), []string{"p"}) || c.node.Labels[key] != "2" || !slices.Equal(taintsOf(c.node), []string{"v:NoSchedule"}) {
			t.Errorf("a taint %s, gone: it has the labels %v, the taints %v, and is drained for %v", name, c.node.Labels, taintsOf(c.node), LastChangeOf(c.node).Drained())
		}
	}
}

// A drain that an obstacle overtakes is given up: the place is free again, the pool waits for
// the obstacle, and what came with the first write stays.
func TestObstacleEndsDrain(t *testing.T) {
	strong := waitingPool("strong", all(prior(9), tainted("w", corev1.TaintEffectNoSchedule)))
	p := drainingPool(prior(5))
	for name, c := range map[string]struct {
		node  func() *NodeState
		pools []*v1.NodePool
	}{
		"a stronger pool gets a taint": {func() *NodeState { return begunDrain(t, p, waitingPool("strong", prior(9))) }, []*v1.NodePool{p, strong}},
		"somebody changes theirs": {func() *NodeState {
			node := foreignTaint(followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5)))), "v", corev1.TaintEffectNoSchedule)
			node = carry(node, decide(node, closedAt, []string{"p"}, p)).DeepCopy()
			if len(LastChangeOf(node).Drains) != 1 {
				t.Fatal("it is not drained")
			}
			node.Taints[0].Value = "theirs"
			return node
		}, []*v1.NodePool{p}},
	} {
		node, writes := c.node(), 0
		for i := range 4 {
			o := NodeOutcomeOf(node, expand(c.pools...), NodeFacts{Rollouts: RolloutsOf(c.pools), Turn: turnFor("p", "strong"), Drained: true, Now: closedAt.Add(time.Duration(i+1) * time.Minute)})
			if !o.Admission.Plan.NoOp() {
				writes++
			}
			node = carry(node, o)
		}
		o := decide(node, closedAt.Add(time.Hour), nil, c.pools...)
		f := FollowerOf(node, o, true)
		if wait := o.Wait.Of("p"); wait == nil || wait.Obstacle == "" || f.occupies(&rollout{}, closedAt.Add(time.Hour)) || len(f.Change.Drains) > 0 || writes > 1 {
			t.Errorf("%s: after %d writes it waits for %v, and is drained %v", name, writes, wait, f.Change.Drained())
		}
		if hasNoExecute(node, "v") || node.Labels[key] != "2" {
			t.Errorf("%s: it has the labels %v and the taints %v", name, node.Labels, taintsOf(node))
		}
	}
}

// The budget of the others is theirs: nodes that cannot be drained keep none from following.
func TestObstructedNodesTakeNoPlaces(t *testing.T) {
	pool := drainingPool(all(prior(5), func(p *v1.NodePool) { p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1)) }))
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	var nodes []Follower
	for _, name := range []string{"a", "b", "c"} {
		node := followed(t, longAgo, waitingPool("p", all(prior(5), labelled("1"))))
		node.Name = name
		if name < "c" {
			node = foreignTaint(node, "theirs", corev1.TaintEffectNoSchedule)
			node = carry(node, decide(node, closedAt.Add(-time.Hour), []string{"p"}, pool)) // by an earlier turn
		}
		nodes = append(nodes, FollowerOf(node, decide(node, closedAt, nil, pool), true))
	}
	if turns := rollouts.Turns(asking(nodes), nil, closedAt, true); len(turns.Nodes) != 1 || turns.Nodes["c"] == nil {
		t.Errorf("it is the turn of %v, want c", turns.Nodes)
	}
}

// A node that joins does not get the labels of a pool whose wall cannot come, nor does one from
// which somebody else's NoExecute taint goes begin to be drained.
func TestObstacleBesideTurns(t *testing.T) {
	pool := drainingPool(nil)
	joins := foreignTaint(followed(t, time.Minute, waitingPool("other", nil)), "theirs", corev1.TaintEffectNoSchedule)
	o := decide(joins, closedAt, nil, pool)
	if node := carry(joins, o); o.Wait.Of("p") == nil || node.Labels[key] != "" || o.Begins {
		t.Errorf("a node that joins waits for %v, and has %v", o.Wait, node.Labels)
	}
	node := foreignTaint(followed(t, longAgo, labelledLike(pool)), "theirs", corev1.TaintEffectNoSchedule)
	facts := NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Now: closedAt}
	o = NodeOutcomeOf(node, expand(pool), facts)
	if wait := o.Wait.Of("p"); wait == nil || wait.Obstacle == "" || !o.Admission.Plan.NoOp() || o.Drain != nil || o.State != NodeStateWaiting {
		t.Errorf("what somebody has taken off comes again: it waits for %v, is drained %+v, %s", wait, o.Drain, o.State)
	}
	node.Labels[key] = "by hand"
	if o = NodeOutcomeOf(node, expand(pool), facts); carry(node, o).Labels[key] != "2" || o.Begins {
		t.Errorf("what somebody has changed is not put back: %v", carry(node, o).Labels)
	}
}

// A pool that takes over the NoSchedule taint of that key is kept from nothing by it.
func TestTakenOverTaintIsNoObstacle(t *testing.T) {
	pool := drainingPool(all(prior(5), also("own", corev1.TaintEffectNoSchedule), func(p *v1.NodePool) { p.Spec.ConflictPolicy = v1.TakeOver }))
	node := foreignTaint(followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5)))), "theirs", corev1.TaintEffectNoSchedule)
	if o := decide(node, closedAt, nil, pool); !slices.Equal(asked(o), []string{"p"}) {
		t.Fatalf("it waits for %v, and asks %v", o.Wait, o.Asks)
	}
	node = carry(node, decide(node, closedAt, []string{"p"}, pool))
	node = carry(node, decide(node, closedAt.Add(time.Minute), nil, pool))
	if !slices.Equal(taintsOf(node), []string{"v:NoSchedule"}) || len(LastChangeOf(node).Drains) != 1 {
		t.Errorf("it has the taints %v, and is drained %v", taintsOf(node), LastChangeOf(node).Drains)
	}
	closedPool := pool.DeepCopy()
	closedPool.Spec.Rollout.Windows = nightly().Windows
	node = foreignTaint(followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5)))), "theirs", corev1.TaintEffectNoSchedule)
	if wait := decide(node, closedAt, nil, closedPool).Wait.Of("p"); wait == nil || wait.Obstacle != "" || wait.Until.IsZero() {
		t.Errorf("outside its windows, it waits for %v", wait)
	}
}

// A pool gives up a NoExecute taint of which a closed pool wants another value, and would take over
// what stands in the way of a drain: the first one asks for no turn, in which nothing would happen, and
// what else it changes is kept from nothing.
func TestWhoeverGivesUpAsksForNoTurnBeforeTheOther(t *testing.T) {
	drains := func(p *v1.NodePool) { p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}} }
	gives := waitingPool("gives", all(labelled("1"), prior(10), drains))
	wants := waitingPool("wants", all(prior(5), tainted("w", corev1.TaintEffectNoExecute), also("w", corev1.TaintEffectNoSchedule), takesOver, drains, inWindows))
	node := foreignTaint(followed(t, longAgo, waitingPool("gives", all(labelled("1"), prior(10), tainted("v", corev1.TaintEffectNoExecute))), waitingPool("wants", prior(5))), "theirs", corev1.TaintEffectNoSchedule)
	o := decide(node, closedAt, nil, gives, wants)
	if waitsText(o) != "wants[wants]" || len(o.Asks) > 0 {
		t.Errorf("outside the window it waits %q, and asks %v", waitsText(o), o.Asks)
	}
	elsewhere := waitingPool("gives", all(labelled("1"), prior(10), func(p *v1.NodePool) { p.Spec.NodeNames = []string{"other"} }))
	after := carry(node, decide(node, closedAt, nil, elsewhere, wants))
	if _, stays := after.Labels[v1.RoleLabel("gives")]; stays || !slices.Equal(taintsOf(after), taintsOf(node)) {
		t.Errorf("the node has left the pool, and has the labels %v and the taints %v", after.Labels, taintsOf(after))
	}
	if o = decide(node, opensAt, nil, gives, wants); !slices.Equal(asked(o), []string{"gives", "wants"}) {
		t.Fatalf("in the window it waits %q, and asks %v", waitsText(o), o.Asks)
	}
	if o = decide(node, opensAt, asked(o), gives, wants); o.Drain == nil || o.Admission.Plan.NoOp() {
		t.Errorf("in its turn it is drained %+v, and writes %v", o.Drain, o.Admission.Plan.Changes)
	}
}

// A closed pool that is stronger wants another value of a NoExecute taint, and a free one agrees on what
// lets pods come meanwhile: the change is that of the closed one, and waits for its window.
func TestStrongerWaitsThoughItsTwinIsTakenOver(t *testing.T) {
	has := waitingPool("has", all(prior(1), tainted("v", corev1.TaintEffectNoExecute)))
	wants := waitingPool("a-wants", all(prior(5), tainted("w", corev1.TaintEffectNoExecute), also("w", corev1.TaintEffectNoSchedule), takesOver, aged(1), inDrainedWindows))
	free := waitingPool("z-free", all(prior(5), aged(9), tainted("w", corev1.TaintEffectNoSchedule), takesOver))
	node := foreignTaint(followed(t, longAgo, has, waitingPool("a-wants", prior(5)), waitingPool("z-free", prior(5))), "theirs", corev1.TaintEffectNoSchedule)
	o := decide(node, closedAt, nil, has, wants, free)
	if waitsText(o) != "a-wants[a-wants]" || o.Drain != nil {
		t.Errorf("it waits %q, and is drained %+v", waitsText(o), o.Drain)
	}
}

func inDrainedWindows(p *v1.NodePool) {
	p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}, Windows: nightly().Windows}
}
