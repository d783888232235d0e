package plan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// haltedPool is halting with a pool that says something, and its halt.
func haltedPool(t *testing.T, change func(*v1.NodePool)) (*v1.NodePool, func(time.Duration, bool) []Follower, map[string]*Halt) {
	t.Helper()
	pool, nodesOf := halting(all(labelled("bad"), change))
	turns := RolloutsOf([]*v1.NodePool{pool}).Turns(asking(nodesOf(time.Minute, false)), nil, closedAt, true)
	if !turns.Halts["p"].Holds() {
		t.Fatal("not halted")
	}
	return pool, nodesOf, turns.Halts
}

func nothing(*v1.NodePool) {}

// The nodes that have not followed are paused, to be safe: the halt stays.
func TestPausedNodesKeepTheHalt(t *testing.T) {
	pool, nodesOf, halts := haltedPool(t, nothing)
	pools := []*v1.NodePool{pool}
	node := followed(t, longAgo, waitingPool("p", labelled("good")))
	node.Annotations[v1.ReconcileAnnotation] = v1.Disabled
	if o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Now: closedAt}); o.State != NodeStatePaused || len(o.Wait) > 0 {
		t.Fatal("it waits while it is paused")
	}
	nodes := nodesOf(time.Minute, false)
	for i := range nodes[1:] { // see the node reconciler: no wait of a paused node is observed
		nodes[i+1].Asks, nodes[i+1].Waits, nodes[i+1].Stuck = nil, nil, true
	}
	turns := RolloutsOf(pools).Turns(asking(nodes), halts, closedAt, true)
	turns = RolloutsOf(pools).Turns(asking(nodesOf(2*time.Hour, true)), turns.Halts, closedAt, true)
	if len(turns.Nodes) > 0 {
		t.Errorf("halted, and with its nodes paused for a moment, it is the turn of %v", turns.Nodes)
	}
}

// What is pushed to a halted pool, and is no label and no taint, leaves the halt as it is: an
// annotation, a name in nodeNames, the policy of conflicts, the priority.
func TestHaltOutlastsOtherEdits(t *testing.T) {
	for name, edit := range map[string]func(*v1.NodePool){
		"an annotation":     annotated("x"),
		"another node name": func(p *v1.NodePool) { p.Spec.NodeNames = append(p.Spec.NodeNames, "new") },
		"the priority":      prior(1),
		"the policy":        func(p *v1.NodePool) { p.Spec.ConflictPolicy = v1.TakeOver },
	} {
		pool, nodesOf, halts := haltedPool(t, nothing)
		nodes := nodesOf(2*time.Hour, true)
		edit(pool)
		pool.Generation++
		if turns := RolloutsOf([]*v1.NodePool{pool}).Turns(asking(nodes), halts, closedAt, true); len(turns.Nodes) > 0 {
			t.Errorf("%s is edited in a halted pool, what has failed stays, and it is the turn of %d nodes to follow it", name, len(turns.Nodes))
		}
	}
}

// And after such an edit nodes that have followed fail as before.
func TestFailureIsSeenAfterOtherEdits(t *testing.T) {
	pool, nodesOf := halting(all(labelled("bad"), limited("2", time.Minute)))
	nodes := nodesOf(time.Minute, false)
	pool.Spec.Annotations = map[string]v1.AnnotationValue{key: "note"}
	pool.Generation++
	pools := []*v1.NodePool{pool}
	// The canary gets the annotation without a turn, and its record keeps what it has followed.
	node := followed(t, longAgo, waitingPool("p", labelled("bad")))
	setChange(t, node, nodes[0].Change)
	o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Now: closedAt})
	nodes[0].Change = LastChangeOf(o.Admission.Plan.After(node))
	if turns := RolloutsOf(pools).Turns(asking(nodes), nil, closedAt, true); !turns.Halts["p"].Holds() {
		t.Errorf("the canary carries the label and has failed a minute after it; an annotation was pushed since: halted %v, turn of %v", turns.Halts["p"], turns.Nodes)
	}
}

func setChange(t *testing.T, node *NodeState, change LastChange) {
	t.Helper()
	record, err := ParseRecord(node.Annotations[v1.AppliedAnnotation])
	if err != nil {
		t.Fatal(err)
	}
	record.Change = change
	node.Annotations[v1.AppliedAnnotation] = record.String()
}

// A rollout ended three months ago. Today one node enters the pool, or is paused no more;
// another one is down for repair: it has not failed by that rollout.
func TestNoFailureMonthsLater(t *testing.T) {
	pool := waitingPool("p", inWaves(waveOf("canary", "1", nil)))
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	var nodes []Follower
	for _, name := range []string{"a", "b", "c"} {
		f := follower(rollouts, name, "", "p")
		f.Change = LastChange{At: closedAt.Add(-90 * 24 * time.Hour), Pools: map[string]FollowedPool{"p": {At: closedAt.Add(-90 * 24 * time.Hour), Spec: specHash(pool)}}}
		nodes = append(nodes, f)
	}
	nodes[1].Unready, nodes[1].Unavailable = true, true
	enters := follower(rollouts, "d", "", "p")
	enters.Asks, enters.Waits = asksFor("p"), []string{"p"}
	if turns := rollouts.Turns(asking(append(nodes, enters)), nil, closedAt, true); turns.Halts["p"] != nil {
		t.Errorf("halted %v, three months after it has followed", turns.Halts["p"])
	}
}

// A node that fails by one pool has not failed by another, which it followed a year ago.
func TestFailureIsOfItsPool(t *testing.T) {
	web := waitingPool("web", all(labelled("1"), limited("1", time.Minute)))
	rollouts := RolloutsOf([]*v1.NodePool{web, waitingPool("gpu", limited("1", time.Minute))})
	a, b := follower(rollouts, "a", "", "gpu", "web"), follower(rollouts, "b", "", "web")
	// It followed web a year ago, and gpu a minute ago, and fails by that.
	a.Change = LastChange{At: closedAt.Add(-time.Minute), Pools: map[string]FollowedPool{"web": {At: closedAt.Add(-longAgo), Spec: specHash(web)}, "gpu": {At: closedAt.Add(-time.Minute), Spec: "broken"}}}
	a.Unready, a.Unavailable = true, true
	b.Asks, b.Waits = asksFor("web"), []string{"web"}
	if turns := rollouts.Turns(asking([]Follower{a, b}), nil, closedAt, true); turns.Halts["web"] != nil {
		t.Errorf("web is halted %v; it followed that a year ago", turns.Halts["web"])
	}
}

// A node that has failed by one pool, and then follows another one while it is not ready,
// has failed by the first one still.
func TestFailureOutlastsAnotherChange(t *testing.T) {
	before := []*v1.NodePool{waitingPool("gpu", all(prior(1), labelPairs("k", "1"))), waitingPool("web", labelPairs("m", "1"))}
	node := followed(t, longAgo, before...)
	gpu := waitingPool("gpu", all(prior(1), labelPairs("k", "bad"), limited("2", time.Minute)))
	web := waitingPool("web", labelPairs("m", "1"))
	turn := func(unready bool, pools ...*v1.NodePool) {
		o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turnOfAll(pools), Unready: unready, Now: closedAt})
		if !o.Begins {
			t.Fatalf("it does not begin: %v", o.Wait)
		}
		node = o.Admission.Plan.After(node)
	}
	turn(false, gpu, web)
	web = waitingPool("web", labelPairs("m", "2"))
	turn(true, gpu, web)
	rollouts := RolloutsOf([]*v1.NodePool{gpu, web})
	a, b := follower(rollouts, "a", "", "gpu", "web"), follower(rollouts, "b", "", "gpu")
	a.Change, a.Unready, a.Unavailable = LastChangeOf(node), true, true
	b.Asks, b.Waits = asksFor("gpu"), []string{"gpu"}
	if turns := rollouts.Turns(asking([]Follower{a, b}), nil, closedAt.Add(time.Minute), true); !turns.Halts["gpu"].Holds() {
		t.Errorf("a was ready when it followed gpu, and is not ready a minute later: no halt, turn of %v", turns.Nodes)
	}
}

// A halt stays while the rollout is another one for a moment.
func TestHaltOutlastsItsRollout(t *testing.T) {
	pool, nodesOf, halts := haltedPool(t, nothing)
	without := pool.DeepCopy()
	without.Spec.Rollout.Waves, without.Spec.Rollout.Paused = nil, true // so that no node follows meanwhile
	turns := RolloutsOf([]*v1.NodePool{without}).Turns(asking(nodesOf(time.Minute, false)), halts, closedAt, true)
	turns = RolloutsOf([]*v1.NodePool{pool}).Turns(asking(nodesOf(2*time.Hour, true)), turns.Halts, closedAt, true)
	if len(turns.Nodes) > 0 {
		t.Errorf("the waves were taken out, and put in again, and it is the turn of %v", turns.Nodes)
	}
}

// An expedited change goes, though another pool waits for its own window on the same node.
func TestExpeditedGoesPastAPoolThatWaitsForAWindow(t *testing.T) {
	gpu := waitingPool("gpu", all(prior(2), labelPairs("k", "2")))
	web := waitingPool("web", all(prior(1), labelPairs("m", "2"), closed))
	fleet := guarded()
	fleet.Annotations = map[string]string{v1.ExpediteRolloutAnnotation: ChangeID(gpu)}
	fleet.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(2))
	pools := []*v1.NodePool{fleet, gpu, web}
	rollouts := RolloutsOf(pools)
	node := followed(t, longAgo, waitingPool("fleet", prior(100)), waitingPool("gpu", all(prior(2), labelPairs("k", "1"))), waitingPool("web", all(prior(1), labelPairs("m", "1"))))
	o := decide(node, closedAt, nil, pools...)
	f := Follower{Name: "b", Pools: o.Members, Asks: o.Asks, Selected: o.Selected}
	for _, w := range o.Wait {
		f.Waits = append(f.Waits, w.Pool)
	}
	canary := f
	canary.Name, canary.Unavailable = "a", true // so it does not begin
	if turns := rollouts.Turns(asking([]Follower{canary, f}), nil, closedAt, true); len(o.Asks) == 0 || turns.Nodes["b"] == nil {
		t.Errorf("gpu is expedited, and its budget has a place; %v wait, and it is the turn of %v", f.Waits, turns.Nodes)
	}
}

func TestNegativeMaxFailures(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("it panics: %v", p)
		}
	}()
	pool, nodesOf := halting(func(p *v1.NodePool) { p.Spec.Rollout.MaxFailures = new(intstr.FromInt32(-1)) })
	RolloutsOf([]*v1.NodePool{pool}).Turns(asking(nodesOf(time.Minute, true)), nil, closedAt, true)
}

// A fleet is halted by gpu. When gpu is reverted, and every node has gone back, the fleet is
// halted no more, though web waits, too.
func TestHaltEndsWithWhatHasFailed(t *testing.T) {
	gpu, web := waitingPool("gpu", all(prior(2), labelPairs("k", "bad"))), waitingPool("web", all(prior(1), labelPairs("m", "2")))
	fleet := waitingPool("fleet", all(prior(100), limited("1", time.Minute)))
	rollouts := RolloutsOf([]*v1.NodePool{fleet, gpu, web})
	nodes := func() []Follower {
		var nodes []Follower
		for _, name := range []string{"a", "b", "c"} {
			f := follower(rollouts, name, "", "fleet", "gpu", "web")
			f.Asks, f.Waits = asksFor("fleet"), []string{"gpu", "web"}
			nodes = append(nodes, f)
		}
		nodes[0].Waits, nodes[0].Asks = []string{"web"}, asksFor("web")
		nodes[0].Change = LastChange{At: closedAt.Add(-2 * time.Minute), Pools: map[string]FollowedPool{"gpu": {At: closedAt.Add(-2 * time.Minute), Spec: specHash(gpu)}}}
		return nodes
	}
	failed := nodes()
	failed[0].Unready, failed[0].Unavailable = true, true
	halts := rollouts.Turns(asking(failed), nil, closedAt, true).Halts
	if !halts["fleet"].Holds() {
		t.Fatal("not halted")
	}
	good := waitingPool("gpu", all(prior(2), labelPairs("k", "good")))
	rollouts = RolloutsOf([]*v1.NodePool{fleet, good, web})
	after := nodes()
	for i := range after {
		after[i].Waits = []string{"web"} // gpu is as it was, everywhere
	}
	if turns := rollouts.Turns(asking(after), halts, closedAt.Add(time.Hour), true); turns.Halts["fleet"].Holds() {
		t.Errorf("gpu is reverted everywhere, and nobody has ever followed web; still halted: %v", turns.Halts["fleet"])
	}
}

// Nodes follow by zone in whichever of their pools says so.
func TestOrderOfZones(t *testing.T) {
	// fleet says nothing of an order, and is the strongest; gpu orders by zone.
	fleet := waitingPool("fleet", all(prior(100), limited("1", time.Minute)))
	gpu := waitingPool("gpu", all(prior(2), limited("1", time.Minute)))
	gpu.Spec.Rollout.Order = v1.OrderByZone
	rollouts := RolloutsOf([]*v1.NodePool{fleet, gpu})
	var nodes []Follower
	for name, zone := range map[string]string{"a": "z2", "b": "z1"} {
		f := follower(rollouts, name, "", "fleet", "gpu")
		f.Asks, f.Waits, f.Zone = asksFor("fleet", "gpu"), []string{"gpu"}, zone
		nodes = append(nodes, f)
	}
	if turns := rollouts.Turns(asking(nodes), nil, closedAt, true); turns.Nodes["b"] == nil {
		t.Errorf("gpu has order: Zone, and a of z2 begins before b of z1: %v", turns.Nodes)
	}
}
