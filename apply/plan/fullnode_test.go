package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// fillUp has a kubelet fill up the annotations of its node but for some bytes.
func fillUp(node *NodeState, spare int) *NodeState {
	full := node.DeepCopy()
	annotate(full, "large", "")
	annotate(full, "large", strings.Repeat("x", allAnnotations-annotationBytesOf(full.Annotations)-spare))
	return full
}

// A kubelet fills up the annotations of its node, and something is to be written that does not fit
// any more: the wall that stands there with its record stays, and what does not fit is reported.
func TestFullNodeKeepsItsWall(t *testing.T) {
	wall := func(effect corev1.TaintEffect) *v1.NodePool {
		return waitingPool("wall", all(prior(100), func(pool *v1.NodePool) {
			pool.Spec.Taints = []v1.Taint{{Key: wallID.Key, Value: "yes", Effect: effect}}
			pool.Spec.Annotations = map[string]v1.AnnotationValue{"example.com/contact": "team-payments@example.com"}
		}))
	}
	self := waitingPool("self", func(pool *v1.NodePool) {
		pool.Spec.NodeNames = nil
		pool.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"example.com/gpu": "yes"}}
	})
	strong := waitingPool("strong", all(prior(1000), tainted("s", corev1.TaintEffectNoSchedule)))
	for name, grow := range map[string]func(node *NodeState, pools []*v1.NodePool) []*v1.NodePool{
		"its kubelet takes an annotation off": func(node *NodeState, pools []*v1.NodePool) []*v1.NodePool {
			delete(node.Annotations, "example.com/contact")
			return pools
		},
		"it joins a pool": func(node *NodeState, pools []*v1.NodePool) []*v1.NodePool {
			node.Labels["example.com/gpu"] = "yes"
			return pools
		},
		"a weaker pool has a label": func(_ *NodeState, pools []*v1.NodePool) []*v1.NodePool {
			return append(pools, waitingPool("weak", labelPairs("example.com/a-label-that-takes-room", "a-value-that-takes-room")))
		},
		"a stronger pool has a taint": func(_ *NodeState, pools []*v1.NodePool) []*v1.NodePool { return append(pools, strong) },
		"the wall gets another value": func(_ *NodeState, pools []*v1.NodePool) []*v1.NodePool {
			longer := pools[0].DeepCopy()
			longer.Spec.Taints[0].Value = strings.Repeat("v", 63)
			return append([]*v1.NodePool{longer}, pools[1:]...)
		},
	} {
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			for _, spare := range []int{0, 10, 30, 60, 100, 150, 200, 300, 500} {
				pools := []*v1.NodePool{wall(effect), self}
				node := newNode("n")
				for range 2 {
					node = outcomeAt(node, closedAt, pools...).Admission.Plan.After(node)
				}
				full := fillUp(node, spare)
				pools = grow(full, pools)
				full = fillUp(full, spare) // what was taken off, too
				var o NodeOutcome
				for range 3 {
					o = outcomeAt(full, closedAt, pools...)
					full = o.Admission.Plan.After(full)
				}
				has := false
				for _, taint := range full.Taints {
					has = has || taint.Key == wallID.Key && taint.Effect == effect
				}
				if _, role := full.Labels[v1.RoleLabel("wall")]; !has || !role {
					t.Errorf("%s, %s, %d bytes left: it has the taints %v and the labels %v", name, effect, spare, full.Taints, full.Labels)
				}
				if size := annotationBytesOf(full.Annotations); size > allAnnotations {
					t.Errorf("%s, %s, %d bytes left: its annotations take %d bytes", name, effect, spare, size)
				}
				if !o.Plan.NoOp() {
					t.Errorf("%s, %s, %d bytes left: a fourth write is due: %v", name, effect, spare, o.Plan.Changes)
				}
				if spare == 0 && len(o.Plan.Conflicts) == 0 {
					t.Errorf("%s, %s: nothing is reported", name, effect)
				}
			}
		}
	}
}

// A label of a pool that the node has left, or that a stronger one gives another value, goes from
// a full node: it draws pods there.
func TestFullNodeKeepsNoLabelThatMoves(t *testing.T) {
	const tenant = "node-restriction.kubernetes.io/tenant"
	of := func(name, value string, priority int32) *v1.NodePool {
		return onNode(name, v1.NodePoolSpec{Priority: priority, Labels: map[string]v1.LabelValue{tenant: v1.LabelValue(value)}})
	}
	first := of("a", "a", 0)
	for name, pools := range map[string][]*v1.NodePool{
		"it moves": {of("b", "a-much-longer-value-of-the-label", 0)}, "it is quarantined": {first, of("q", "quarantine-quarantine-quarantine", 1000)},
	} {
		for _, spare := range []int{0, 20, 100} {
			node := newNode("n")
			for range 2 {
				node = outcomeAt(node, closedAt, first).Admission.Plan.After(node)
			}
			for range 4 {
				node = fillUp(node, spare)
				node = outcomeAt(node, closedAt, pools...).Admission.Plan.After(node)
			}
			if node.Labels[tenant] == "a" {
				t.Errorf("%s, %d bytes left: it has the labels %v", name, spare, node.Labels)
			}
		}
	}
}

// What fills the node up stands under a key of a weaker pool that is paused, by its kubelet or by
// the pool itself.
func TestFullNodeKeepsItsWallBesidePausedPools(t *testing.T) {
	wall := onNode("wall", v1.NodePoolSpec{Priority: 100, Taints: []v1.Taint{{Key: wallID.Key, Value: "yes", Effect: wallID.Effect}}})
	step := wall.DeepCopy()
	step.Spec.Labels = map[string]v1.LabelValue{"example.com/step": "a-step-that-takes-some-room"}
	const contact = "example.com/contact"
	weak := func(value string) *v1.NodePool {
		return onNode("weak", v1.NodePoolSpec{Annotations: map[string]v1.AnnotationValue{contact: v1.AnnotationValue(value)}})
	}
	settled := func(pools ...*v1.NodePool) *NodeState {
		node := newNode("n")
		for range 2 {
			node = outcomeAt(node, closedAt, pools...).Admission.Plan.After(node)
		}
		return node
	}
	keeps := func(how string, node *NodeState, weak *v1.NodePool) {
		node = outcomeAt(node, closedAt, step, paused(weak)).Admission.Plan.After(node)
		if _, role := node.Labels[v1.RoleLabel("wall")]; !role || !carriesTaint(node, wallID, "yes") {
			t.Errorf("%s: it has the taints %v and the labels %v", how, node.Taints, node.Labels)
		}
		if size := annotationBytesOf(node.Annotations); size > allAnnotations {
			t.Errorf("%s: its annotations take %d bytes", how, size)
		}
	}
	full := settled(wall, weak("x"))
	annotate(full, contact, "")
	annotate(full, contact, strings.Repeat("x", allAnnotations-annotationBytesOf(full.Annotations)))
	keeps("by its kubelet", full, weak("x"))

	// Each byte is there twice, in the record, too.
	empty := annotationBytesOf(settled(wall, weak("")).Annotations)
	large := weak(strings.Repeat("x", (allAnnotations-empty-80)/2))
	full = settled(wall, large)
	if left := allAnnotations - annotationBytesOf(full.Annotations); left > 90 || left < 0 {
		t.Fatalf("%d bytes are left", left)
	}
	keeps("by the pool", full, large)
}

// What would have made room on a full node is refused, or put back later: what else is to come gets
// the room that there is, and what is written is never too large.
func TestFullNodeWithoutWhatMakesRoom(t *testing.T) {
	text := func(length int) map[string]v1.AnnotationValue {
		return map[string]v1.AnnotationValue{"example.com/text": v1.AnnotationValue(strings.Repeat("t", length))}
	}
	room := waitingPool("room", all(prior(-5), func(pool *v1.NodePool) {
		pool.Spec.Annotations = map[string]v1.AnnotationValue{"example.com/room": v1.AnnotationValue(strings.Repeat("r", 2000))}
	}))
	of := func(length int) *v1.NodePool {
		return waitingPool("r", func(pool *v1.NodePool) { pool.Spec.Annotations = text(length) })
	}
	for name, facts := range map[string]NodeFacts{
		"refused":         {Refused: map[string]Refusal{"r": {}}},
		"put back lately": {Backoff: DefaultRepairBackoff()},
	} {
		for _, others := range [][]*v1.NodePool{nil, {room}} {
			pools := append([]*v1.NodePool{of(1000)}, others...)
			node := newNode("n")
			for range 2 {
				node = outcomeAt(node, closedAt, pools...).Admission.Plan.After(node)
			}
			if name == "refused" {
				pools[0] = of(1)
			} else {
				facts.Now = closedAt
				put := node.DeepCopy()
				annotate(put, "example.com/text", "")
				o := NodeOutcomeOf(put, expand(pools...), facts)
				facts.Repairs = o.Admission.Written(closedAt)
				annotate(node, "example.com/text", strings.Repeat("k", 5000))
			}
			node = fillUp(node, 0)
			pools = append(pools, wallPool())
			facts.Rollouts, facts.Now = AllRollouts(pools), closedAt
			o := NodeOutcomeOf(node, expand(pools...), facts)
			after := o.Admission.Plan.After(node)
			if size := o.Admission.Plan.annotationBytes(node); size > allAnnotations && !o.Admission.Plan.NoOp() {
				t.Errorf("%s, of %d pools: the annotations take %d bytes", name, len(pools), size)
			}
			if len(after.Annotations["example.com/text"]) < 1000 {
				t.Errorf("%s: %q was to stay", name, after.Annotations["example.com/text"])
			}
			if comes := carriesTaint(after, wallID, "yes"); comes != (others != nil || name != "refused") { // the record of what the kubelet has replaced makes room, too
				t.Errorf("%s, of %d pools: the wall comes: %t", name, len(pools), comes)
			}
		}
	}
}

// wallPool wants a taint, and labels.
func wallPool() *v1.NodePool {
	return waitingPool("wall", func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: wallID.Key, Value: "yes", Effect: wallID.Effect}}
		pool.Spec.Labels = map[string]v1.LabelValue{"example.com/a": "ours", "example.com/b": "ours", "example.com/c": "ours", "example.com/d": "ours"}
	})
}
