package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// brake is a pool of nodes that are drained one after the other, and what they are by now.
type brake struct {
	t     *testing.T
	pool  *v1.NodePool
	nodes map[string]*NodeState
	now   time.Time
}

// newBrake makes a world of nodes that all have followed the pool but for its NoExecute taint.
func newBrake(t *testing.T, change func(*v1.NodePool), names ...string) *brake {
	b := &brake{t: t, nodes: map[string]*NodeState{}, now: closedAt, pool: drainingPool(func(p *v1.NodePool) {
		p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1))
		if change != nil {
			change(p)
		}
	})}
	for _, name := range names {
		node := followed(t, longAgo, waitingPool("p", labelled("1")))
		node.Name = name
		b.nodes[name] = node
	}
	return b
}

func (b *brake) rollouts() *Rollouts { return RolloutsOf([]*v1.NodePool{b.pool}) }

func (b *brake) followers() (all []Follower) {
	for _, node := range b.nodes {
		o := NodeOutcomeOf(node, expand(b.pool), NodeFacts{Rollouts: b.rollouts(), Now: b.now})
		all = append(all, FollowerOf(node, o, true))
	}
	return all
}

func (b *brake) displaced(pods ...PendingPod) map[string]Displaced {
	return b.rollouts().Displaced(b.followers(), b.nodes, pods)
}

func (b *brake) turns(displaced map[string]Displaced) Turns {
	return b.rollouts().TurnsBeside(displaced, asking(b.followers()), nil, b.now, true)
}

// writes has a node do what it may in a turn.
func (b *brake) writes(name string, turn Turn, drained bool) {
	o := NodeOutcomeOf(b.nodes[name], expand(b.pool), NodeFacts{Rollouts: b.rollouts(), Turn: turn, Drained: drained, Evicted: drained, Now: b.now})
	b.nodes[name] = o.Admission.Plan.After(b.nodes[name])
}

// drains has a node follow, and be drained.
func (b *brake) drains(name string) {
	b.t.Helper()
	b.writes(name, Turn{In: []string{"p"}}, false)
	b.now = b.now.Add(time.Minute)
	b.writes(name, Turn{}, true)
	b.now = b.now.Add(time.Second)
	if got := taintsOf(b.nodes[name]); !slices.Equal(got, []string{"v:NoExecute"}) {
		b.t.Fatalf("%s has the taints %v", name, got)
	}
}

// pendingSince is a pod that fits nodes as these functions say.
func pendingSince(name string, created time.Time, fits func(*NodeState) bool) PendingPod {
	return PendingPod{Namespace: "shop", Name: name, Created: created, Shape: name, Fits: fits}
}

func untainted(node *NodeState) bool { return len(node.Taints) == 0 }

// While a pod finds no place that the first node had one for, the next one is not drained; of
// what was before, of what has room elsewhere, and of what never fitted, nothing is said.
func TestNoFurtherNodeIsDrainedWhilePodsFindNoPlace(t *testing.T) {
	b := newBrake(t, nil, "a", "b")
	before := b.now.Add(-time.Minute)
	if d := b.displaced(pendingSince("early", b.now.Add(time.Second), untainted)); len(d) > 0 {
		t.Fatalf("no node has begun, and %v", d)
	}
	if turns := b.turns(nil); len(turns.Nodes["a"]) == 0 {
		t.Fatalf("it is the turn of %v", turns.Nodes)
	}
	began := b.now
	b.drains("a")
	since := b.rollouts().Displacing(b.followers())["p"]
	if !since.Since.Equal(began) || !since.Last.After(began.Add(30*time.Second)) {
		t.Errorf("nodes are drained from %v to %v, began at %v", since.Since, since.Last, began)
	}
	evicted := began.Add(10 * time.Second)
	for name, c := range map[string]struct {
		reason string
		pod    PendingPod
		want   int
	}{
		"displaced":   {"it was evicted before the drain ended", pendingSince("x", evicted, untainted), 1},
		"only before": {"it fits the node that has changed, as that was", pendingSince("x", evicted, func(n *NodeState) bool { return n.Name == "a" && untainted(n) && n.Labels[key] == "1" }), 1},
		"older":       {"it has found no place before", pendingSince("x", before, untainted), 0},
		"never":       {"no node of the pool would have done", pendingSince("x", evicted, func(n *NodeState) bool { return n.Labels["gpu"] != "" }), 0},
		"by now":      {"it wants what the node has by now, and no other had", pendingSince("x", evicted, func(n *NodeState) bool { return n.Labels[key] == "2" }), 0},
	} {
		if got := b.displaced(c.pod)["p"]; got.Pods != c.want {
			t.Errorf("%s: %d pods, want %d: %s", name, got.Pods, c.want, c.reason)
		}
	}
	displaced := b.displaced(pendingSince("y", evicted, untainted), pendingSince("x", evicted, untainted))
	turns := b.turns(displaced)
	if len(turns.Nodes) > 0 || turns.Displaced["p"] != (Displaced{Pods: 2, First: "shop/x"}) {
		t.Errorf("it is the turn of %v; held by %v", turns.Nodes, turns.Displaced)
	}
	if turns := b.turns(b.displaced()); len(turns.Nodes["b"]) == 0 || len(turns.Displaced) > 0 {
		t.Errorf("the pods have found a place, and it is the turn of %v; held by %v", turns.Nodes, turns.Displaced)
	}
	if turns := b.turns(map[string]Displaced{"p": {Unknown: true}}); len(turns.Nodes) > 0 || !turns.Displaced["p"].Unknown {
		t.Errorf("it is not known, and the turn of %v", turns.Nodes)
	}
}

// What is expedited, what drains nothing, and what goes back, waits for no pods; nor does a
// budget that is full say that something else keeps nodes.
func TestWhatWaitsForNoPods(t *testing.T) {
	held := map[string]Displaced{"p": {Pods: 1, First: "shop/x"}}
	for name, c := range map[string]struct {
		reason string
		change func(*brake)
		turn   bool
	}{
		"as it is":     {"the next one would be drained", func(*brake) {}, false},
		"expedited":    {"somebody has decided that it goes on", func(b *brake) { b.pool.Annotations = map[string]string{v1.ExpediteRolloutAnnotation: ChangeID(b.pool)} }, true},
		"no drain":     {"the taint is taken out again, and a label waits", func(b *brake) { b.pool.Spec.Taints = nil }, true},
		"no evictions": {"a NoSchedule taint ends no pod", func(b *brake) { b.pool.Spec.Taints[0].Effect = corev1.TaintEffectNoSchedule }, true},
	} {
		b := newBrake(t, nil, "a", "b")
		b.drains("a")
		c.change(b)
		turns := b.turns(held)
		if turn := len(turns.Nodes) == 1; turn != c.turn || turn == (len(turns.Displaced) > 0) {
			t.Errorf("%s: it is the turn of %v, held by %v: %s", name, turns.Nodes, turns.Displaced, c.reason)
		}
	}
	b := newBrake(t, func(p *v1.NodePool) { p.Spec.Rollout.MinReady = &metav1.Duration{Duration: time.Hour} }, "a", "b")
	b.drains("a")
	if turns := b.turns(held); len(turns.Nodes)+len(turns.Displaced) > 0 {
		t.Errorf("the budget is full, and it is the turn of %v, held by %v", turns.Nodes, turns.Displaced)
	}
}

// A change that gives nodes back what they had before is not held, though that evicts pods.
func TestRevertWaitsForNoPods(t *testing.T) {
	b := newBrake(t, nil, "a", "b")
	for name := range b.nodes {
		b.nodes[name] = followed(t, longAgo, waitingPool("p", all(labelled("2"), tainted("v", corev1.TaintEffectNoExecute))))
		b.nodes[name].Name = name
	}
	with := b.pool.DeepCopy()
	b.pool.Spec.Taints = nil
	b.writes("a", Turn{In: []string{"p"}}, false)
	if len(b.nodes["a"].Taints) > 0 {
		t.Fatalf("a has the taints %v", b.nodes["a"].Taints)
	}
	b.pool, b.now = with, b.now.Add(time.Minute)
	turns := b.turns(map[string]Displaced{"p": {Pods: 1, First: "shop/x"}})
	if _, turn := turns.Nodes["a"]; !turn || len(turns.Displaced) > 0 {
		t.Errorf("it is the turn of %v, held by %v", turns.Nodes, turns.Displaced)
	}
	b.writes("a", turns.Of("a"), false)
	if got := taintsOf(b.nodes["a"]); !slices.Equal(got, []string{"v:NoSchedule"}) {
		t.Errorf("a has the taints %v, and should be drained again", got)
	}
}

// When a drain began stands in the record as long as what was drained for it.
func TestRecordKnowsWhenADrainBegan(t *testing.T) {
	b := newBrake(t, nil, "a", "b")
	began := b.now
	b.drains("a")
	followed := LastChangeOf(b.nodes["a"]).Pools["p"]
	if !followed.Began.Equal(began) || !followed.At.After(began) {
		t.Errorf("it began at %v, and ended at %v; want %v", followed.Began, followed.At, began)
	}
}
