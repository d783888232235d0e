package plan

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// refusing decides on a node of which some pools are refused.
func refusing(node *NodeState, refused map[string]Refusal, pools ...*v1.NodePool) NodeOutcome {
	return NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: AllRollouts(pools), Refused: refused, Now: closedAt})
}

func elsewhere(pool *v1.NodePool) { pool.Spec.NodeNames = []string{"other"} }

// Of two pools that agree on a refused value something changes for both, and of both nothing is written.
func TestPoolsThatAgreeAreRefusedBoth(t *testing.T) {
	node := followed(t, longAgo, waitingPool("a", nil), waitingPool("b", prior(-1)))
	pools := []*v1.NodePool{waitingPool("a", labelled("bad")), waitingPool("b", all(prior(-1), labelled("bad")))}
	o := refusing(node, nil, pools...)
	if changing := AllRollouts(pools).Changing(o.Admission.Plan); !slices.Equal(changing, []string{"a", "b"}) {
		t.Errorf("it changes something for %v", changing)
	}
	o = refusing(node, map[string]Refusal{"a": {Says: "no"}, "b": {Says: "no"}}, pools...)
	if !o.Admission.Plan.NoOp() || o.Wait.Of("a") == nil || o.Wait.Of("b") == nil {
		t.Errorf("written is %v, and these wait: %v", o.Admission.Plan.Changes, o.Wait)
	}
}

// What somebody has taken off of a refused pool does not come back while a stronger one, which
// wants it with another value, waits for its window.
func TestDriftOfARefusedPoolIsNotPutBack(t *testing.T) {
	node := followed(t, longAgo, waitingPool("s", prior(10)), waitingPool("r", labelled("bad")))
	delete(node.Labels, key)
	o := refusing(node, map[string]Refusal{"r": {Says: "no"}}, waitingPool("s", all(prior(10), labelled("good"), closed)), waitingPool("r", labelled("bad")))
	if !o.Admission.Plan.NoOp() {
		t.Errorf("written is %v", o.Admission.Plan.Changes)
	}
}

// A node leaves a pool and one within it. What the outer one releases is refused: the inner one
// releases what it has all the same.
func TestRefusedReleaseKeepsNothingOfAnInnerPool(t *testing.T) {
	inner := waitingPool("inner", all(inside("outer"), tainted("w", corev1.TaintEffectNoSchedule)))
	node := followed(t, longAgo, waitingPool("outer", labelled("1")), inner)
	o := refusing(node, map[string]Refusal{"outer": {Says: "no", Leaving: true}}, waitingPool("outer", all(labelled("1"), elsewhere)), inner)
	after := o.Admission.Plan.After(node)
	if len(after.Taints) > 0 || after.Labels[key] != "1" {
		t.Errorf("it has taints %v and labels %v", after.Taints, after.Labels)
	}
}

// A pool within a refused one would get the label of a wall that the node has left: that goes,
// and does not wait for it.
func TestPoolWithinARefusedOneKeepsNoLabelOfAWall(t *testing.T) {
	for _, priority := range []int32{-10, 10} {
		node := followed(t, longAgo, waitingPool("p", prior(priority)), waitingPool("w", labelled("wall")))
		bad := tainted("bad", corev1.TaintEffectPreferNoSchedule)
		o := refusing(node, map[string]Refusal{"p": {Says: "no"}},
			waitingPool("p", all(prior(priority), bad)), waitingPool("w", all(labelled("wall"), elsewhere)),
			waitingPool("i", all(prior(priority), inside("p"), labelled("mine"))))
		after := o.Admission.Plan.After(node)
		if value, has := after.Labels[key]; has || len(after.Taints) > 0 {
			t.Errorf("priority %d: it has %q, taints %v", priority, value, after.Taints)
		}
		if i := o.Wait.Of("i"); i == nil || !i.Refused {
			t.Errorf("priority %d: the inner pool waits for %v", priority, i)
		}
	}
}

// A refusal of what a pool changes on its members says nothing of what it releases.
func TestRefusalIsNoReasonToKeepAMember(t *testing.T) {
	node := followed(t, longAgo, waitingPool("w", labelled("wall")))
	o := refusing(node, map[string]Refusal{"w": {Says: "no"}}, waitingPool("w", all(labelled("wall"), elsewhere)))
	if _, has := o.Admission.Plan.After(node).Labels[key]; has || len(o.Wait) > 0 {
		t.Errorf("it keeps the label of a pool that it has left; waits: %v", o.Wait)
	}
}
