package plan

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func outcomeAt(node *NodeState, now time.Time, pools ...*v1.NodePool) NodeOutcome {
	return NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Now: now})
}

func waitsText(o NodeOutcome) string {
	var got []string
	for _, wait := range o.Wait {
		got = append(got, wait.Pool+"["+strings.Join(wait.For, " ")+"]")
	}
	return strings.Join(got, " ")
}

func younger(pool *v1.NodePool) {
	pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-20 * 24 * time.Hour))
}

// A closed inner pool that is deleted keeps its override and its label until it moves.
func TestDeletedInnerPoolMovesWhole(t *testing.T) {
	outer := waitingPool("outer", tainted("1", corev1.TaintEffectNoExecute))
	node := followed(t, 365*24*time.Hour, outer, waitingPool("inner", all(inside("outer"), prior(1), tainted("2", corev1.TaintEffectNoExecute))))
	changed := waitingPool("inner", all(inside("outer"), prior(1), tainted("2", corev1.TaintEffectNoExecute), closed, deletedAt(closedAt)))
	o := outcomeAt(node, closedAt, outer, changed)
	if after := o.Admission.Plan.After(node); after.Taints[0].Value != "2" {
		t.Errorf("inner is closed, and its release is written in part: %v, labels %v, waits %q", after.Taints, after.Labels, waitsText(o))
	}
}

// A node enters a pool that is a wall and one inside it at once: the label of the inner one
// does not come before the taint of the outer one.
func TestLineMovesWhole(t *testing.T) {
	enters := func(pool *v1.NodePool) {
		pool.Spec.NodeNames = nil
		pool.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"enter": "yes"}}
	}
	fleet := waitingPool("fleet", nil)
	outer := waitingPool("outer", all(tainted("wall", corev1.TaintEffectNoSchedule), closed, enters))
	inner := waitingPool("inner", all(inside("outer"), younger, func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{"secret-workload": "yes"}
	}))
	node := followed(t, 365*24*time.Hour, fleet, outer, inner)
	node.Labels["enter"] = "yes"
	o := outcomeAt(node, closedAt, fleet, outer, inner)
	after := o.Admission.Plan.After(node)
	if after.Labels["secret-workload"] != "" && len(after.Taints) == 0 {
		class := expand(fleet, outer, inner).RuntimeClass("inner")
		stepped := steppedClass(nil, class, v1.RoleLabel("inner"), []string{"inner", "outer"}, []*ClassStep{o.Step})
		t.Errorf("the node has the labels of inner and not the taint of outer around it: labels %v, taints %v, waits %q; a pod of inner fits it: %t", after.Labels, after.Taints, waitsText(o), fits(stepped, after))
	}
}

// A pool that takes over remembers who comes later, also while it waits.
func TestTakeOverRemembersWhileItWaits(t *testing.T) {
	takes := func(pool *v1.NodePool) { pool.Spec.ConflictPolicy = v1.TakeOver }
	before := waitingPool("p", all(labelled("1"), takes))
	after := waitingPool("p", all(labelled("2"), takes, closed, changedAt(closedAt)))
	run := func(passes ...time.Time) string {
		node := followed(t, 365*24*time.Hour, before)
		node.Labels[key] = "theirs" // another controller, while the change waits
		for _, now := range passes {
			node = outcomeAt(node, now, after).Admission.Plan.After(node)
		}
		p, err := Node(node, expand()) // released
		if err != nil {
			t.Fatal(err)
		}
		return p.After(node).Labels[key]
	}
	if waited, direct := run(closedAt, opensAt), run(opensAt); waited != direct {
		t.Errorf("released after having waited the label is %q, and %q without", waited, direct)
	}
}

// A pool leaves the one around it, which goes: the taint stands and waits, and its
// RuntimeClass tolerates it until then.
func TestClassToleratesAFormerParent(t *testing.T) {
	outer := waitingPool("outer", tainted("wall", corev1.TaintEffectNoSchedule))
	inner := waitingPool("inner", all(inside("outer"), younger))
	node := followed(t, 365*24*time.Hour, outer, inner)
	gone := waitingPool("outer", all(tainted("wall", corev1.TaintEffectNoSchedule), closed, deletedAt(closedAt)))
	moved := waitingPool("inner", all(younger, changedAt(closedAt)))
	pools := []*v1.NodePool{gone, moved}
	o := outcomeAt(node, closedAt, pools...)
	waiting := o.Admission.Plan.After(node)
	live := expand(outer, inner).RuntimeClass("inner")
	if !fits(live, node) {
		t.Fatal("it did not fit before")
	}
	live.OwnerReferences = ownedClass(moved, nil).OwnerReferences
	class := PoolOutcomeOf(moved, nil, expand(pools...), live, PoolFacts{Rollouts: RolloutsOf(pools), Now: closedAt, Steps: []*ClassStep{o.Step}}).RuntimeClass.Want
	if !fits(class, waiting) {
		t.Errorf("a pod of inner fitted before and will afterwards, and does not while outer waits: %v; node taints %v labels %v; waits %q", class.Scheduling, waiting.Taints, waiting.Labels, waitsText(o))
	}
}

// A node that has been in use for months, and enters an unchanged pool by a label, waits.
func TestNodeInUseWaitsToEnter(t *testing.T) {
	p := waitingPool("p", all(tainted("1", corev1.TaintEffectNoExecute), closed, func(pool *v1.NodePool) {
		pool.Spec.NodeNames = nil
		pool.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"enter": "yes"}}
		pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-365 * 24 * time.Hour))
	}))
	node := newNode("n")
	node.Created = metav1.NewTime(closedAt.Add(-300 * 24 * time.Hour))
	node.Labels = map[string]string{"enter": "yes"} // just now, by hand
	if o := outcomeAt(node, closedAt, p); len(o.Wait) == 0 {
		t.Errorf("a node that is in use for 300 days enters the pool outside the window: %v", o.Admission.Plan.Changes)
	}
}

// A new node gets its wall at once, though another pool was first, and somebody has written
// to the wall since the node came.
func TestNewNodeGetsItsWall(t *testing.T) {
	fleet := waitingPool("fleet", labelled("1"))
	wall := waitingPool("wall", all(tainted("wall", corev1.TaintEffectNoExecute), closed, func(pool *v1.NodePool) {
		pool.Spec.NodeNames = nil
		pool.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"enter": "yes"}}
	}))
	node := followed(t, 2*time.Minute, fleet, wall)
	node.Labels["enter"] = "yes" // the cloud controller, two minutes after the node has come
	touched := wall.DeepCopy()
	writtenAt(closedAt.Add(-time.Minute), `{"f:metadata":{"f:annotations":{}}}`)(touched) // an annotation, such as its revision
	if o := outcomeAt(node, closedAt, fleet, wall); len(o.Wait) > 0 {
		t.Fatal("it waits anyway")
	}
	if o := outcomeAt(node, closedAt, fleet, touched); len(o.Wait) > 0 {
		t.Errorf("a node of two minutes gets no wall, as somebody has annotated the pool: waits %q", waitsText(o))
	}
}

// What is said of a wait is what is so now, and not when it began.
func TestReasonOfAWaitIsThatOfNow(t *testing.T) {
	rollout := nightly()
	rollout.Exclusions = []v1.Exclusion{{Start: &metav1.Time{Time: closedAt.Add(3 * time.Hour)}, End: &metav1.Time{Time: closedAt.Add(15 * time.Hour)}, Reason: "peak"}}
	p := waitingPool("p", all(labelled("2"), func(pool *v1.NodePool) { pool.Spec.Rollout = rollout }))
	node := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1")))
	rollouts := RolloutsOf([]*v1.NodePool{p})
	say := func(r *Rollouts, now time.Time) string {
		return NodeOutcomeOf(node, expand(p), NodeFacts{Rollouts: r, Now: now}).Wait[0].String()
	}
	say(rollouts, closedAt)
	later := opensAt.Add(30 * time.Minute) // in the window, and excluded
	if kept, fresh := say(rollouts, later), say(RolloutsOf([]*v1.NodePool{p}), later); kept != fresh {
		t.Errorf("it says %q; a process that starts now says %q", kept, fresh)
	}
}
