package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func also(value string, effect corev1.TaintEffect) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Taints = append(p.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func noTaints(p *v1.NodePool) { p.Spec.Taints = nil }

func inWindows(p *v1.NodePool) { p.Spec.Rollout.Windows = nightly().Windows }

// When a drain is given up outside a window, another pool that waits for nothing gets its taint
// of that key.
func TestAbandonedDrainGivesWayToAnotherPool(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"it came meanwhile":    {"", "w"},
		"it changed meanwhile": {"w", "w2"},
	} {
		other := func(value string) *v1.NodePool {
			if value == "" {
				return waitingPool("other", nil)
			}
			return waitingPool("other", tainted(value, corev1.TaintEffectNoSchedule))
		}
		p := drainingPool(prior(5))
		node := followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5))), other(c.before))
		node = carry(node, decide(node, closedAt, []string{"p"}, p, other(c.before)))
		node = carry(node, decide(node, closedAt.Add(time.Minute), nil, p, other(c.after)))
		given := drainingPool(all(prior(5), noTaints, inWindows))
		o := decide(node, closedAt.Add(2*time.Minute), nil, given, other(c.after))
		node = carry(node, o)
		if got := taintsOf(node); !slices.Contains(got, c.after+":NoSchedule") {
			t.Errorf("%s: other waits for %v, wants %s:NoSchedule, and nobody else wants that key; the node has %v (p waits: %v)", name, o.Wait.Of("other"), c.after, got, o.Wait.Of("p"))
		}
	}
}

// What nobody wants any more does not come back with the end of a drain.
func TestAbandonedDrainBringsBackNothingUnwanted(t *testing.T) {
	other := waitingPool("other", tainted("w", corev1.TaintEffectNoSchedule))
	p := drainingPool(prior(5))
	node := followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5))), other)
	node = carry(node, decide(node, closedAt, []string{"p"}, p, other))
	node = carry(node, decide(node, closedAt.Add(time.Minute), nil, p)) // other is gone
	given := drainingPool(all(prior(5), noTaints, labelled("3"), inWindows))
	node = carry(node, decide(node, closedAt.Add(2*time.Minute), nil, given))
	if got := taintsOf(node); slices.Contains(got, "w:NoSchedule") {
		t.Errorf("pool other is gone, and its taint is back: %v, record %v", got, node.Annotations[v1.AppliedAnnotation])
	}
}

// A wall that stands and is wanted stays when a drain is given up.
func TestAbandonedDrainLeavesWantedWalls(t *testing.T) {
	t.Run("NoExecute becomes NoSchedule", func(t *testing.T) {
		node := begunDrain(t, drainingPool(prior(5)))
		edited := drainingPool(all(prior(5), tainted("v", corev1.TaintEffectNoSchedule), labelled("3"), inWindows))
		o := decide(node, closedAt.Add(time.Minute), nil, edited)
		if got := taintsOf(carry(node, o)); !slices.Contains(got, "v:NoSchedule") {
			t.Errorf("it had v:NoSchedule, the pool wants v:NoSchedule, and it has %v", got)
		}
	})
	t.Run("another pool has it by then", func(t *testing.T) {
		p := drainingPool(prior(5))
		q := func(label string) *v1.NodePool {
			return waitingPool("q", all(prior(1), labelPairs("m", label), tainted("v", corev1.TaintEffectNoSchedule)))
		}
		node := followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5))), waitingPool("q", all(prior(1), labelPairs("m", "1"))))
		node = carry(node, decide(node, closedAt, []string{"p"}, p, waitingPool("q", all(prior(1), labelPairs("m", "1")))))
		node = carry(node, decide(node, closedAt.Add(time.Minute), []string{"p"}, p, q("1")))
		if entry := mustRecord(t, node).Taints[taintKey]; entry.Pool != "q" {
			t.Fatalf("not q has it: %+v", entry)
		}
		given := drainingPool(all(prior(5), noTaints, inWindows))
		o := decide(node, closedAt.Add(2*time.Minute), nil, given, q("2"))
		if got := taintsOf(carry(node, o)); !slices.Contains(got, "v:NoSchedule") {
			t.Errorf("q has v:NoSchedule by the record, and wants it: it has %v", got)
		}
	})
	t.Run("an own one that came in its turn meanwhile", func(t *testing.T) {
		node := begunDrain(t, drainingPool(prior(5)))
		pool := drainingPool(all(prior(5), also("own", corev1.TaintEffectNoSchedule)))
		node = carry(node, decide(node, closedAt.Add(time.Minute), []string{"p"}, pool))
		edited := drainingPool(all(prior(5), tainted("own", corev1.TaintEffectNoSchedule), labelled("3"), inWindows))
		o := decide(node, closedAt.Add(2*time.Minute), nil, edited)
		if got := taintsOf(carry(node, o)); len(got) == 0 {
			t.Errorf("p wanted own:NoSchedule all the time, and its turn was over; the node had v:NoSchedule and has %v", got)
		}
	})
	t.Run("an own one that took over", func(t *testing.T) {
		takes := func(p *v1.NodePool) { p.Spec.ConflictPolicy = v1.TakeOver }
		node := followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5), takes)))
		node.Taints = []corev1.Taint{{Key: key, Value: "theirs", Effect: corev1.TaintEffectNoSchedule}}
		pool := drainingPool(all(prior(5), takes, also("own", corev1.TaintEffectNoSchedule)))
		for i := range 3 {
			node = carry(node, decide(node, closedAt.Add(time.Duration(i)*time.Second), []string{"p"}, pool))
			t.Log(taintsOf(node), node.Annotations[v1.AppliedAnnotation])
		}
		edited := drainingPool(all(prior(5), takes, tainted("own", corev1.TaintEffectNoSchedule), labelled("3"), inWindows))
		o := decide(node, closedAt.Add(2*time.Minute), nil, edited)
		if got := taintsOf(carry(node, o)); !slices.Contains(got, "own:NoSchedule") && !slices.Contains(got, "v:NoSchedule") {
			t.Errorf("own:NoSchedule was on the node, is wanted, and it has %v", got)
		}
	})
}

func mustRecord(t *testing.T, node *NodeState) Record {
	t.Helper()
	r, err := readRecord(node)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The end of a drain carries no other change of the key outside a window.
func TestEndOfDrainCarriesNoOtherChange(t *testing.T) {
	own := also("own", corev1.TaintEffectNoSchedule)
	for name, edit := range map[string]func(*v1.NodePool){
		"goes":    func(*v1.NodePool) {},
		"changes": also("other", corev1.TaintEffectNoSchedule),
	} {
		node := followed(t, longAgo, waitingPool("p", all(labelled("2"), own, prior(5))))
		node = carry(node, decide(node, closedAt, []string{"p"}, drainingPool(all(prior(5), own))))
		edited := drainingPool(all(prior(5), edit, inWindows))
		o := NodeOutcomeOf(node, expand(edited), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{edited}), Drained: true, Now: closedAt.Add(time.Minute)})
		if got := taintsOf(carry(node, o)); !slices.Contains(got, "v:NoSchedule") { // in its place, until the turn of the node
			t.Errorf("own:NoSchedule %s outside the window: %v, waits %v", name, got, o.Wait)
		}
	}
}

// The drain of a pool that does not want the taint any more opens no window of another one that
// wants it, too.
func TestDrainOpensNoWindowOfAnotherPool(t *testing.T) {
	p := drainingPool(prior(5))
	q := waitingPool("q", all(prior(1), tainted("v", corev1.TaintEffectNoExecute), closed))
	node := begunDrain(t, p, waitingPool("q", prior(1)))
	given := drainingPool(all(prior(5), noTaints))
	o := NodeOutcomeOf(node, expand(given, q), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{given, q}), Drained: true, Now: closedAt.Add(time.Minute)})
	if hasNoExecute(carry(node, o), "v") {
		t.Errorf("q is closed, and its taint came: waits for %v", o.Wait)
	}
}

// What keeps pods off stays when somebody else puts a NoExecute taint of the key on a node that
// is drained, so that ours does not come.
func TestForeignTaintInTheMiddleLeavesTheWall(t *testing.T) {
	node := followed(t, longAgo, waitingPool("p", all(labelled("2"), prior(5), tainted("v", corev1.TaintEffectNoSchedule))))
	node = carry(node, decide(node, closedAt, []string{"p"}, drainingPool(prior(5))))
	if len(LastChangeOf(node).Drains) != 1 || !slices.Equal(taintsOf(node), []string{"v:NoSchedule"}) {
		t.Fatal(taintsOf(node), LastChangeOf(node))
	}
	node = node.DeepCopy()
	node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: "theirs", Effect: corev1.TaintEffectNoExecute})
	pool := drainingPool(all(prior(5), inWindows))
	o := decide(node, closedAt.Add(time.Minute), nil, pool)
	node = carry(node, o)
	if got := taintsOf(node); !slices.Contains(got, "v:NoSchedule") {
		t.Errorf("the wall of p stood before and during the drain, p is closed, v:NoExecute did not come (conflicts %v), and the node has %v", o.Plan.Conflicts, got)
	}
	node = node.DeepCopy()
	node.Taints = nil
	node = carry(node, decide(node, closedAt.Add(2*time.Minute), nil, pool))
	if got := taintsOf(node); len(got) == 0 {
		t.Errorf("theirs has gone again, and until the window opens the node has no taint of p: %v", got)
	}
}
