package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Where a kubelet has filled the node up after the wall and its record were taken, no write exceeds
// what the API server takes, and the wall is back where it fits.
func TestWhatIsRememberedFits(t *testing.T) {
	for _, pool := range []*v1.NodePool{changed(wallPool(), closed), paused(wallPool())} {
		for _, spare := range []int{0, 30, 60, 100, 200, 300, 400, 600} {
			w := newMemoryWorld(t, nil, wallPool(), waitingPool("q", labelled("1")))
			w.pools[0] = pool
			w.without(true)
			w.edit(func(node *NodeState) { node.Labels = map[string]string{key: "1"} })
			w.node = fillUp(w.node, spare)
			for range 3 {
				o := w.decide()
				if size := o.Admission.Plan.annotationBytes(w.node); !o.Admission.Plan.NoOp() && size > allAnnotations {
					t.Errorf("paused %v, %d bytes left: the write of %v takes %d bytes", pool.Annotations, spare, o.Admission.Plan.Changes, size)
				}
				w.pass()
			}
			if o := w.pass(); !o.Admission.Plan.NoOp() {
				t.Errorf("paused %v, %d bytes left: a fifth pass writes %v", pool.Annotations, spare, o.Admission.Plan.Changes)
			}
			if back := w.has(wallID, "yes"); back != (spare >= 200 && pool.Annotations == nil) {
				t.Errorf("paused %v, %d bytes left: the wall is back: %t", pool.Annotations, spare, back)
			}
		}
	}
}

// A node without room for what is remembered forgets nothing, also where something else is written:
// a kubelet has filled it up after a wall was taken off, with its entry or with the whole record.
func TestFullNodeIsRemembered(t *testing.T) {
	long := strings.Repeat("v", 63)
	wall := func(change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("wall", all(func(pool *v1.NodePool) {
			pool.Spec.Taints = []v1.Taint{{Key: wallID.Key, Value: long, Effect: wallID.Effect}}
		}, change))
	}
	second := waitingPool("second", func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: "second", Value: "yes", Effect: keptOffID.Effect}}
		pool.Spec.Labels = map[string]v1.LabelValue{"l": "1"}
	})
	for _, whole := range []bool{true, false} {
		w := newMemoryWorld(t, nil, wall(func(*v1.NodePool) {}), second)
		w.pools = []*v1.NodePool{wall(closed), second}
		w.pass()
		w.edit(func(node *NodeState) {
			node.Taints = slices.DeleteFunc(node.Taints, func(taint corev1.Taint) bool { return taint.Key == wallID.Key })
			delete(node.Labels, v1.RoleLabel("wall"))
			record := mustRead(t, node)
			record.Taints, record.Labels = maps.Clone(record.Taints), maps.Clone(record.Labels)
			delete(record.Taints, wallID)
			delete(record.Labels, v1.RoleLabel("wall"))
			node.Annotations[v1.AppliedAnnotation] = record.String()
			if whole {
				node.Taints, node.Labels = nil, nil
				delete(node.Annotations, v1.AppliedAnnotation)
			}
		})
		w.node = fillUp(w.node, 0)
		o := w.pass()
		if o.Admission.Plan.NoOp() != whole || len(o.Admission.Plan.aside) == 0 || w.has(wallID, long) {
			t.Fatalf("whole %t: on the full node it forgets %v, and has %v", whole, o.Admission.Plan.aside, w.node.Taints)
		}
		w.edit(func(node *NodeState) { delete(node.Annotations, "large") })
		if o := w.pass(); !w.has(wallID, long) {
			t.Errorf("whole %t: with room again it has the taints %v, and waits %q", whole, w.node.Taints, waitsText(o))
		}
	}
}
