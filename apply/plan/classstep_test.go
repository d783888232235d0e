package plan

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// While nodes wait, a pod that names the RuntimeClass fits the nodes of the pool that have
// moved, and those that have not; and no other.
func TestRuntimeClassInStep(t *testing.T) {
	type edit = func(*v1.NodePool)
	cases := map[string]struct {
		reason        string
		before, after edit
		foreign       edit // another pool, whose taints are there before, and go
	}{
		"label changes": {"the nodes have either value", labelled("1"), all(labelled("2"), closed), nil},
		"label comes with a taint": {"the pool moves whole", nil,
			all(labelled("1"), tainted("1", corev1.TaintEffectNoSchedule), closed), nil},
		"taint goes":    {"it stands where the pool waits", all(labelled("1"), tainted("1", corev1.TaintEffectNoSchedule)), all(labelled("1"), closed), nil},
		"taint changes": {"the nodes have either", tainted("1", corev1.TaintEffectNoExecute), all(tainted("2", corev1.TaintEffectNoExecute), closed), nil},
		"a wall goes": {"what others keep off stays off", labelled("1"), all(labelled("2"), closed),
			func(pool *v1.NodePool) {
				pool.Spec.Taints = []v1.Taint{{Key: "wall", Value: "1", Effect: corev1.TaintEffectNoSchedule}}
			}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := []*v1.NodePool{waitingPool("p", c.before)}
			after := []*v1.NodePool{waitingPool("p", all(c.after, changedAt(closedAt)))}
			if c.foreign != nil {
				before = append(before, waitingPool("wall", all(c.foreign, prior(-1))))
				after = append(after, waitingPool("wall", all(prior(-1), changedAt(closedAt))))
			}
			old := followed(t, 365*24*time.Hour, before...)
			outcome := NodeOutcomeOf(old, expand(after...), NodeFacts{Rollouts: RolloutsOf(after), Now: closedAt})
			if outcome.Step == nil {
				t.Fatal("nothing waits")
			}
			waiting := outcome.Admission.Plan.After(old)
			moved := outcome.Plan.After(old)
			pool := after[0]
			live := expand(before[0]).RuntimeClass("p")
			live.OwnerReferences = ownedClass(pool, nil).OwnerReferences
			class := func(facts PoolFacts) *nodev1.RuntimeClass {
				return PoolOutcomeOf(pool, nil, expand(after...), live, facts).RuntimeClass.Want
			}
			stepped := class(PoolFacts{Steps: []*ClassStep{outcome.Step}})
			if !fits(stepped, waiting) && c.foreign == nil || !fits(stepped, moved) {
				t.Errorf("a pod fits the node that waits: %t, and the one that has moved: %t (%s)\n%v\n%v", fits(stepped, waiting), fits(stepped, moved), c.reason, stepped.Scheduling, waiting)
			}
			if c.foreign != nil && fits(stepped, waiting) {
				t.Errorf("a pod fits a node behind the wall of another pool (%s)", c.reason)
			}
			if fits(stepped, newNode("stranger")) {
				t.Error("a pod fits a node outside the pool")
			}
			if final := class(PoolFacts{}); fits(final, waiting) && c.foreign == nil || !fits(final, moved) {
				t.Error("the step makes no difference: nothing was compared")
			}
			if held := PoolOutcomeOf(pool, nil, expand(after...), live, PoolFacts{Undecided: true}); held.RuntimeClass != nil {
				t.Errorf("the RuntimeClass changes before it is known which nodes wait: %v", held.RuntimeClass)
			}
		})
	}
}

// fits reports whether the scheduler would take a node for a pod that names a RuntimeClass.
func fits(class *nodev1.RuntimeClass, node *NodeState) bool {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: class.Scheduling.NodeSelector, Tolerations: class.Scheduling.Tolerations}}
	selected, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node.Object())
	if err != nil || !selected {
		return false
	}
	for _, taint := range node.Taints {
		tolerated := false
		for _, toleration := range pod.Spec.Tolerations {
			tolerated = tolerated || toleration.ToleratesTaint(logr.Discard(), &taint, false)
		}
		if !tolerated && taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return true
}

// A handler that changes replaces the RuntimeClass, and pods in the gap are refused: that
// waits for a window of the pool, or of one around it.
func TestReplacementWaits(t *testing.T) {
	around, inner := waitingPool("around", closed), waitingPool("p", all(inside("around"), func(pool *v1.NodePool) { pool.Spec.Handler = "kata" }))
	pools := []*v1.NodePool{around, inner}
	live := expand(pools...).RuntimeClass("p")
	live.Handler, live.OwnerReferences = "runc", []metav1.OwnerReference{OwnerReference(inner)}
	o := PoolOutcomeOf(inner, nil, expand(pools...), live, PoolFacts{Rollouts: RolloutsOf(pools), Now: closedAt})
	if o.RuntimeClass != nil || o.ClassWait == nil || !o.ClassWait.Next.Equal(opensAt) {
		t.Errorf("outside the window the RuntimeClass changes: %v; it waits for %v", o.RuntimeClass, o.ClassWait)
	}
	o = PoolOutcomeOf(inner, nil, expand(pools...), live, PoolFacts{Rollouts: RolloutsOf(pools), Now: opensAt})
	if o.RuntimeClass == nil || o.RuntimeClass.Action != Replace || o.ClassWait != nil {
		t.Errorf("in the window it changes: %v; it waits for %v", o.RuntimeClass, o.ClassWait)
	}
}
