package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A NoExecute taint that a pool took over goes back at once to what somebody else had put
// there: the node is not drained for that, and the record stays readable.
func TestGivingBackATaintDrainsNothing(t *testing.T) {
	takes := func(p *v1.NodePool) { p.Spec.ConflictPolicy = v1.TakeOver }
	fleet := waitingPool("fleet", all(prior(9), func(p *v1.NodePool) { p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}} }))
	for name, after := range map[string][]*v1.NodePool{
		"the taint is taken out of the pool": {drainingPool(noTaints)},
		"the pool is deleted":                {fleet},
		"the node leaves the pool":           {drainingPool(func(p *v1.NodePool) { p.Spec.NodeNames = []string{"other"} })},
	} {
		node := newNode("n")
		node.Created.Time = closedAt.Add(-longAgo)
		node.Taints = []corev1.Taint{{Key: key, Value: "theirs", Effect: corev1.TaintEffectNoExecute}}
		p, err := Node(node, expand(waitingPool("p", all(takes, labelled("2"), tainted("v", corev1.TaintEffectNoExecute))), waitingPool("fleet", prior(9))))
		if err != nil {
			t.Fatal(err)
		}
		node = p.After(node)
		o := decide(node, closedAt, []string{"p", "fleet"}, after...)
		node = carry(node, o)
		if _, err := readRecord(node); err != nil {
			t.Errorf("%s: %v; the node has the taints %v, the record %s", name, err, taintsOf(node), node.Annotations[v1.AppliedAnnotation])
		}
		if !slices.Equal(taintsOf(node), []string{"theirs:NoExecute"}) {
			t.Errorf("%s: the taints are %v, and were theirs:NoExecute before the pool", name, taintsOf(node))
		}
	}
}

// Where another pool that waits wants the very taint that keeps pods off, the record comes to
// rest all the same.
func TestTaintThatTwoPoolsWantComesToRest(t *testing.T) {
	a := waitingPool("a", all(prior(2), tainted("v", corev1.TaintEffectNoExecute), func(p *v1.NodePool) {
		p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}, MaxUnavailable: new(intstr.FromInt32(1))}
	}))
	b := func(label string, change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("b", all(prior(1), labelPairs("m", label), change))
	}
	none := func(*v1.NodePool) {}
	node := followed(t, longAgo, waitingPool("a", prior(2)), b("1", none))
	node = carry(node, decide(node, closedAt, []string{"a"}, a, b("1", none)))
	waits := b("2", all(closed, tainted("v", corev1.TaintEffectNoSchedule)))
	writes := 0
	for i := range 10 {
		o := decide(node, closedAt.Add(time.Duration(i)*time.Minute), nil, a, waits)
		if o.State == NodeStateChanging {
			writes++
		}
		node = carry(node, o)
	}
	if writes > 1 {
		t.Errorf("nothing happens, and 10 passes write %d times", writes)
	}
}

// When a drain has come to its end, a pool that waits for nothing gets its taint of that key.
func TestEndOfDrainGivesWayToAnotherPool(t *testing.T) {
	a := waitingPool("a", all(prior(5), tainted("v", corev1.TaintEffectNoExecute), func(p *v1.NodePool) {
		p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}}
	}))
	c := waitingPool("c", all(prior(1), tainted("w", corev1.TaintEffectNoSchedule)))
	b := waitingPool("b", all(prior(2), labelPairs("m", "1"), tainted("v", corev1.TaintEffectNoSchedule)))
	node := followed(t, longAgo, waitingPool("a", prior(5)), waitingPool("b", all(prior(2), labelPairs("m", "1"))), waitingPool("c", prior(1)))
	node = carry(node, decide(node, closedAt, []string{"a"}, a, waitingPool("b", all(prior(2), labelPairs("m", "1"))), c))
	node = carry(node, decide(node, closedAt.Add(time.Minute), []string{"a"}, a, b, c))
	left := waitingPool("b", all(prior(2), labelPairs("m", "2"), closed))
	pools := []*v1.NodePool{a, left, c}
	o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Drained: true, Now: closedAt.Add(2 * time.Minute)})
	node = carry(node, o)
	if o.Wait.Of("c") == nil && !slices.Contains(taintsOf(node), "w:NoSchedule") {
		t.Errorf("c waits for nothing, nobody else wants that key, and the node has %v; waits: %v", taintsOf(node), o.Wait)
	}
}
