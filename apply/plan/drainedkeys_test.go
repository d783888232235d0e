package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

var drainedID = render.TaintID{Key: key, Effect: corev1.TaintEffectNoExecute}

// Whatever brings a NoExecute taint, the node is drained before it comes: the stronger pool
// that had the key gives it up, or somebody else's taint goes.
func TestEveryNewTaintIsDrained(t *testing.T) {
	weak := drainingPool(nil)
	strong := waitingPool("strong", all(prior(5), tainted("s", corev1.TaintEffectNoExecute)))
	theirs := corev1.Taint{Key: key, Value: "theirs", Effect: corev1.TaintEffectNoExecute}
	for name, c := range map[string]struct {
		node  *NodeState
		facts NodeFacts
	}{
		"a stronger pool gives it up": {followed(t, longAgo, weak, strong), NodeFacts{Turn: turnFor("p")}},
		"a foreign taint goes":        {followed(t, longAgo, labelledLike(weak)), NodeFacts{Turn: turnFor("p")}},
	} {
		node := c.node.DeepCopy()
		if name == "a foreign taint goes" {
			node.Taints = []corev1.Taint{theirs}
			if o := decide(node, closedAt, []string{"p"}, weak); o.Drain != nil || len(o.Plan.Conflicts) != 1 {
				t.Errorf("%s: while it stands, the node is drained %+v, in conflict %v", name, o.Drain, o.Plan.Conflicts)
			}
			node.Taints = nil
		}
		decide := func(drained bool, after time.Duration) NodeOutcome {
			facts := c.facts
			facts.Rollouts, facts.Now, facts.Drained = RolloutsOf([]*v1.NodePool{weak}), closedAt.Add(after), drained
			return NodeOutcomeOf(node, expand(weak), facts)
		}
		o := decide(false, 0)
		node = carry(node, o)
		if hasNoExecute(node, "v") || o.Drain == nil || !slices.Contains(taintsOf(node), "v:NoSchedule") || !o.Begins {
			t.Errorf("%s: it has the taints %v, begins: %t, is drained %+v", name, taintsOf(node), o.Begins, o.Drain)
		}
		c.facts = NodeFacts{}
		if f := FollowerOf(node, decide(false, time.Minute), true); !f.occupies(&rollout{}, closedAt.Add(time.Hour)) {
			t.Errorf("%s: it does not count as unavailable", name)
		}
		node = carry(node, decide(true, time.Minute))
		if got := taintsOf(node); !slices.Equal(got, []string{"v:NoExecute"}) {
			t.Errorf("%s: drained, it has the taints %v", name, got)
		}
	}
}

func labelledLike(pool *v1.NodePool) *v1.NodePool {
	without := pool.DeepCopy()
	without.Spec.Taints = nil
	return without
}

// While a node is drained for a pool, all else that the pool says waits as before; and the
// drain goes on.
func TestDrainExemptsItsTaintsAlone(t *testing.T) {
	for name, change := range map[string]func(*v1.NodePool){
		"another label":  labelled("3"),
		"one label less": func(p *v1.NodePool) { p.Spec.Labels = nil },
		"one taint more": func(p *v1.NodePool) {
			p.Spec.Taints = append(p.Spec.Taints, v1.Taint{Key: "example.com/more", Effect: corev1.TaintEffectNoSchedule})
		},
		"a window as well": labelled("3"),
	} {
		node := begunDrain(t, drainingPool(prior(5)))
		pool := drainingPool(all(prior(5), change, func(p *v1.NodePool) { p.Spec.Rollout.Windows = nightly().Windows }))
		o := decide(node, closedAt.Add(time.Minute), nil, pool)
		if o.Wait.Of("p") == nil || o.Drain == nil || !o.Drain.Began {
			t.Errorf("%s: it waits for %v, and is drained %+v", name, o.Wait, o.Drain)
		}
		before := node
		node = carry(node, NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Drained: true, Now: closedAt.Add(time.Minute)}))
		if !hasNoExecute(node, "v") || node.Labels[key] != before.Labels[key] || len(LastChangeOf(node).Drains) > 0 {
			t.Errorf("%s: it ends with the labels %v, the taints %v, and is drained %v", name, node.Labels, taintsOf(node), LastChangeOf(node).Drains)
		}
		node = carry(node, decide(node, opensAt, []string{"p"}, pool))
		if slices.Contains(taintsOf(node), "v:NoSchedule") || node.Labels[key] != string(pool.Spec.Labels[key]) {
			t.Errorf("%s: in the window, it has the labels %v, the taints %v", name, node.Labels, taintsOf(node))
		}
	}
	// The node leaves the pool.
	node := begunDrain(t, drainingPool(prior(5)))
	left := drainingPool(all(prior(5), func(p *v1.NodePool) { p.Spec.NodeNames, p.Spec.Rollout.Windows = []string{"other"}, nightly().Windows }))
	o := decide(node, closedAt.Add(time.Minute), nil, left)
	node = carry(node, o)
	if o.Wait.Of("p") == nil || node.Labels[key] != "2" || !slices.Equal(taintsOf(node), []string{"v:NoSchedule"}) || len(LastChangeOf(node).Drains) > 0 {
		t.Errorf("it leaves the pool outside the window: waits for %v, and has the labels %v, the taints %v, and the record %+v", o.Wait, node.Labels, node.Taints, LastChangeOf(node))
	}
	node = carry(node, decide(node, opensAt, []string{"p"}, left))
	if len(node.Taints) > 0 || len(node.Annotations) > 0 {
		t.Errorf("it has left the pool, with the taints %v and the annotations %v", node.Taints, node.Annotations)
	}
}

// A drain of a taint that nobody wants any more ends at once, and the node is unavailable no
// longer. What has kept pods off goes when the pool may change the node.
func TestAbandonedDrainEnds(t *testing.T) {
	own := func(p *v1.NodePool) {
		p.Spec.Taints = append(p.Spec.Taints, v1.Taint{Key: key, Value: "own", Effect: corev1.TaintEffectNoSchedule})
	}
	none := func(*v1.NodePool) {}
	for name, c := range map[string]struct {
		before, edit func(*v1.NodePool)
		want         []string
	}{
		"another value":            {none, tainted("w", corev1.TaintEffectNoExecute), []string{"w:NoSchedule"}}, // it is drained anew
		"no taint":                 {none, func(p *v1.NodePool) { p.Spec.Taints = nil }, nil},
		"an own one before":        {own, all(tainted("w", corev1.TaintEffectNoExecute), own), []string{"w:NoSchedule"}},
		"an own one, that changes": {own, tainted("w", corev1.TaintEffectNoSchedule), []string{"w:NoSchedule"}},
	} {
		node := followed(t, longAgo, waitingPool("p", all(labelled("1"), c.before)))
		node = carry(node, decide(node, closedAt, []string{"p"}, drainingPool(c.before)))
		if got := taintsOf(node); !slices.Equal(got, []string{"v:NoSchedule"}) {
			t.Fatalf("%s: it is drained with the taints %v", name, got)
		}
		// A label that changes as well has the pool wait.
		edited := drainingPool(all(c.edit, labelled("3"), func(p *v1.NodePool) { p.Spec.Rollout.Windows = nightly().Windows }))
		o := decide(node, closedAt.Add(time.Minute), nil, edited)
		node = carry(node, o)
		if got, drained := taintsOf(node), len(LastChangeOf(node).Drains) > 0; !slices.Equal(got, []string{"v:NoSchedule"}) || drained || node.Labels[key] != "2" || o.Wait.Of("p") == nil {
			t.Errorf("%s: it has the taints %v, the labels %v, the record %+v", name, got, node.Labels, LastChangeOf(node))
		}
		if f := FollowerOf(node, decide(node, closedAt.Add(time.Hour), nil, edited), true); f.occupies(&rollout{}, closedAt.Add(time.Hour)) {
			t.Errorf("%s: it counts as unavailable for good", name)
		}
		node = carry(node, decide(node, opensAt, []string{"p"}, edited))
		if got := taintsOf(node); !slices.Equal(got, c.want) {
			t.Errorf("%s: in the window, it has the taints %v, want %v", name, got, c.want)
		}
	}
}

// Two writes within a second are told apart: a cache that still has the first one is behind.
func TestDrainThatEndsWithinASecond(t *testing.T) {
	node := followed(t, longAgo, waitingPool("p", labelled("1")))
	node = carry(node, decide(node, closedAt, []string{"p"}, drainingPool(nil)))
	began := LastChangeOf(node)
	node = carry(node, decide(node, closedAt, nil, drainingPool(func(p *v1.NodePool) { p.Spec.Taints = nil })))
	if ended := LastChangeOf(node); !began.Behind(ended) || ended.Behind(began) {
		t.Errorf("it began with %+v, and ended with %+v", began, ended)
	}
}

// A node that is drained counts as that while it is paused, while its pool is suspended, and
// however long it takes; and no longer than that.
func TestDrainIsRememberedAsLongAsItLasts(t *testing.T) {
	pool := drainingPool(nil)
	node := followed(t, longAgo, waitingPool("p", labelled("1")))
	node = carry(node, decide(node, closedAt, []string{"p"}, pool))
	paused := node.DeepCopy()
	paused.Annotations[v1.ReconcileAnnotation] = "disabled"
	frozen := pool.DeepCopy()
	frozen.Annotations = map[string]string{v1.ReconcileAnnotation: "disabled"}
	for name, c := range map[string]struct {
		node *NodeState
		pool *v1.NodePool
	}{"paused node": {paused, pool}, "paused pool": {node, frozen}, "as it was": {node, pool}} {
		now := closedAt.Add(400 * 24 * time.Hour)
		o := decide(c.node, now, nil, c.pool)
		after := carry(c.node, o)
		if f := FollowerOf(c.node, o, true); !f.occupies(&rollout{}, now) || len(LastChangeOf(after).Drains) != 1 {
			t.Errorf("%s: it is drained %v, and counts: %t", name, LastChangeOf(after).Drains, f.occupies(&rollout{}, now))
		}
	}
	// The pool had the NoSchedule taint in its own right, and wants nothing else any more.
	own := func(p *v1.NodePool) {
		p.Spec.Taints = append(p.Spec.Taints, v1.Taint{Key: key, Value: "v", Effect: corev1.TaintEffectNoSchedule})
	}
	node = followed(t, longAgo, waitingPool("p", all(labelled("2"), own)))
	node = carry(node, decide(node, closedAt, []string{"p"}, drainingPool(own)))
	if len(LastChangeOf(node).Drains) != 1 {
		t.Fatalf("it is not drained: %+v", LastChangeOf(node))
	}
	node = carry(node, decide(node, closedAt.Add(time.Minute), nil, drainingPool(func(p *v1.NodePool) { p.Spec.Taints = nil; own(p) })))
	if len(LastChangeOf(node).Drains) > 0 || !slices.Equal(taintsOf(node), []string{"v:NoSchedule"}) {
		t.Errorf("nothing is left to drain it for, and it is: %+v", LastChangeOf(node))
	}
}

// A drain that began by a clock which is ahead begins anew.
func TestDrainOfAClockThatIsAhead(t *testing.T) {
	pool := drainingPool(nil)
	node := followed(t, longAgo, waitingPool("p", labelled("1")))
	node = carry(node, decide(node, closedAt.Add(24*time.Hour), []string{"p"}, pool))
	o := decide(node, closedAt, nil, pool)
	node = carry(node, o)
	if since := LastChangeOf(node).Drains[drainedID].Since; !since.Equal(closedAt) || o.Drain.Began {
		t.Errorf("it is drained since %s", since)
	}
	if o = decide(node, closedAt.Add(time.Minute), nil, pool); o.Drain == nil || !o.Drain.Began || o.Drain.Settles(time.Time{}).After(closedAt.Add(time.Minute)) {
		t.Errorf("a minute later: %+v", o.Drain)
	}
}

// What changes without a turn is no longer what a node had before: it does not go back at once.
func TestWhatChangesWithoutATurnDoesNotGoBack(t *testing.T) {
	free := func(value string) *v1.NodePool { return waitingPool("p", labelled(value)) }
	node := followed(t, longAgo, free("1"))
	limitedTo := func(value string) *v1.NodePool { return waitingPool("p", all(labelled(value), limited("1", 0))) }
	node = carry(node, decide(node, closedAt, []string{"p"}, limitedTo("2")))
	node = carry(node, decide(node, closedAt.Add(time.Hour), nil, free("3")))
	if node.Labels[key] != "3" {
		t.Fatalf("without a rollout, it has %v", node.Labels)
	}
	if o := decide(node, closedAt.Add(2*time.Hour), nil, waitingPool("p", all(labelled("1"), limited("1", 0), closed))); len(reverting(o)) > 0 {
		t.Errorf("it goes back to what it had two changes ago")
	}
	back := carry(node, decide(node, closedAt.Add(2*time.Hour), nil, waitingPool("p", all(labelled("2"), closed, func(p *v1.NodePool) { p.Spec.Rollout.MaxUnavailable = nil }))))
	if back.Labels[key] != "3" {
		t.Errorf("outside the window, it has %v", back.Labels)
	}
}
