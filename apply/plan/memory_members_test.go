package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A label that a pool had taken over goes with its record: pools see the node without it, not as it
// was before.
func TestMembersGoByTheLabelsThatAreThere(t *testing.T) {
	const zone = "example.com/zone"
	takes := func(change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("p", all(func(pool *v1.NodePool) { pool.Spec.ConflictPolicy = v1.TakeOver }, change))
	}
	choosing := func(name string, selector *v1.LabelSelector, effect corev1.TaintEffect) *v1.NodePool {
		return waitingPool(name, func(pool *v1.NodePool) {
			pool.Spec.Priority, pool.Spec.NodeNames, pool.Spec.Selector = 9, nil, selector
			pool.Spec.Taints = []v1.Taint{{Key: name, Value: "yes", Effect: effect}}
		})
	}
	without := choosing("without", &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: zone, Operator: "DoesNotExist"}}}, corev1.TaintEffectNoSchedule)
	with := choosing("with", &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{zone: "x"}}, corev1.TaintEffectNoExecute)
	w := newMemoryWorld(t, nil)
	w.edit(func(node *NodeState) { node.Labels = map[string]string{zone: "x"} })
	w.pools = []*v1.NodePool{takes(func(pool *v1.NodePool) { pool.Spec.Labels = map[string]v1.LabelValue{zone: "y"} }), with, without}
	if w.pass(); w.node.Labels[zone] != "y" || len(w.node.Taints) != 1 || w.node.Taints[0].Key != "with" {
		t.Fatalf("the node has the labels %v and the taints %v", w.node.Labels, w.node.Taints)
	}
	w.pools[0] = takes(all(tainted("1", corev1.TaintEffectNoSchedule), closed))
	w.pass()
	w.without(true)
	w.edit(func(node *NodeState) { delete(node.Labels, zone) })
	for range 2 {
		if o := w.pass(); len(w.node.Taints) != 1 || w.node.Taints[0].Key != "without" {
			t.Errorf("the node has the labels %v and the taints %v, and waits %q", w.node.Labels, w.node.Taints, waitsText(o))
		}
	}
}

// Two pools want the same wall, and the one that has it is paused: taken with its record, it comes
// at once for the other one, outside the windows of that.
func TestWallOfAPausedPoolComesForTheOtherThatHadIt(t *testing.T) {
	wants := func(name string, priority int32, change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool(name, all(prior(priority), tainted("wall", keptOffID.Effect), change))
	}
	none := func(*v1.NodePool) {}
	w := newMemoryWorld(t, nil, wants("a", 9, none), wants("b", 1, none))
	w.pools = []*v1.NodePool{paused(wants("a", 9, none)), wants("b", 1, closed)}
	w.pass()
	w.without(true)
	if o := w.pass(); !w.has(keptOffID, "wall") {
		t.Errorf("the node has the taints %v, and waits %q", w.node.Taints, waitsText(o))
	}
}

// A young node that has lost its record with its labels does not join its pool once more: what the pool
// has begun to want since waits.
func TestNodeThatLostItsRecordDoesNotJoin(t *testing.T) {
	w := newMemoryWorld(t, nil, waitingPool("p", labelled("1")))
	w.node = w.node.DeepCopy()
	w.node.Created = metav1.NewTime(closedAt.Add(-joiningPeriod / 2))
	w.pools = []*v1.NodePool{waitingPool("p", all(labelled("1"), tainted("v", corev1.TaintEffectNoExecute), closed, changedAt(closedAt)))}
	for _, lost := range []bool{false, true, false} {
		if lost {
			w.without(true)
			w.node.Labels = nil
		}
		if o := w.pass(); len(w.node.Taints) > 0 || waitsText(o) != "p[p]" {
			t.Errorf("lost %t: it waits %q, and has the taints %v", lost, waitsText(o), taintsOf(w.node))
		}
	}
}
