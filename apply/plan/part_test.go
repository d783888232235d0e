package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// What of a plan can be written to a node that must not grow: all that is released goes, and
// so does a label that another pool gives another value, which is no longer that of the wall;
// all else stays as it is, in the record too. The rest of the plan is due after it.
func TestRemovals(t *testing.T) {
	s := newServer()
	wall := onNode("wall", v1.NodePoolSpec{
		Labels: map[string]v1.LabelValue{"kept": "1", "moved": "1", "gone": "1"}, Annotations: map[string]v1.AnnotationValue{"gone": "1"},
		Taints: []v1.Taint{{Key: "gone", Effect: "NoSchedule"}, {Key: "kept", Value: "1", Effect: "NoSchedule"}},
	})
	next := onNode("next", v1.NodePoolSpec{
		Labels: map[string]v1.LabelValue{"kept": "1", "moved": "2", "new": "1"}, Annotations: map[string]v1.AnnotationValue{"new": "1"},
		Taints: []v1.Taint{{Key: "kept", Value: "2", Effect: "NoSchedule"}, {Key: "new", Effect: "NoExecute"}},
	})
	node, _ := s.write(t, tracked(t, s), expand(wall))
	p, err := Node(node, expand(next))
	if err != nil {
		t.Fatal(err)
	}
	less := p.Removals(node)
	patch, err := less.Patch(node)
	if err != nil {
		t.Fatal(err)
	}
	small := s.send(t, node, patch)
	want := map[Field]map[string]string{
		Label: {"kept": "1"}, Annotation: {}, Taint: {"kept:NoSchedule": "1"},
	}
	if diff := cmp.Diff(want, standing(small)); diff != "" {
		t.Errorf("after the removals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(less.Record.String(), small.Annotations[v1.AppliedAnnotation]); diff != "" {
		t.Errorf("the record (-planned +written):\n%s", diff)
	}
	if len(less.Changes) != 5 {
		t.Errorf("%d changes, want those of the role label, two labels, an annotation and a taint: %v", len(less.Changes), less.Changes)
	}
	whole, _ := s.write(t, node, expand(next))
	after, rest := s.write(t, small, expand(next))
	if diff := cmp.Diff(standing(whole), standing(after)); diff != "" {
		t.Errorf("in two writes it comes to something else than in one (-one +two):\n%s", diff)
	}
	if again := rest.Removals(small); again != nil {
		t.Errorf("of the rest something is released: %v", again.Changes)
	}
	if p, err = Node(node, expand()); err != nil || p.Removals(node) != nil {
		t.Errorf("%v; a plan that only releases has another such part", err)
	}
}

// The taint of a pool stays until the one can be written that comes in its place.
func TestRemovalsTakeNoWallOff(t *testing.T) {
	s := newServer()
	wall := func(effect corev1.TaintEffect, labels map[string]v1.LabelValue) *v1.NodePool {
		return onNode("wall", v1.NodePoolSpec{Labels: labels, Taints: []v1.Taint{{Key: "wall", Effect: effect}}})
	}
	node, _ := s.write(t, newNode("n"), expand(wall(corev1.TaintEffectNoSchedule, map[string]v1.LabelValue{"gone": "1"})))
	p, err := Node(node, expand(wall(corev1.TaintEffectNoExecute, nil)))
	if err != nil {
		t.Fatal(err)
	}
	small := p.Removals(node).After(node)
	if _, stands := small.Labels["gone"]; stands || len(small.Taints) != 1 || small.Taints[0].Effect != corev1.TaintEffectNoSchedule {
		t.Errorf("after the removals it has the labels %v and the taints %v", small.Labels, small.Taints)
	}
	if p, err = Node(node, expand()); err != nil || p.Removals(node) != nil {
		t.Fatal("all of it is released, and not by a part", err)
	}
}

// Nor does it go for one whose place somebody weaker has, or that stands with another value.
func TestRemovalsWaitForTheTaintOfAnother(t *testing.T) {
	s := newServer()
	wall := func(taints ...v1.Taint) *v1.NodePool {
		return onNode("wall", v1.NodePoolSpec{Priority: 100, Taints: taints})
	}
	old := v1.Taint{Key: "wall", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	next := v1.Taint{Key: "wall", Value: "v", Effect: corev1.TaintEffectNoExecute}
	weaker := next
	weaker.Value = "w"
	weak := onNode("weak", v1.NodePoolSpec{Taints: []v1.Taint{weaker}})
	for name, pools := range map[string][2]*render.Expansion{
		"of a weaker pool":   {expand(wall(old), weak), expand(wall(next), weak)},
		"with another value": {expand(wall(old, weaker)), expand(wall(next))},
	} {
		node, _ := s.write(t, newNode("n"), pools[0])
		p, err := Node(node, pools[1])
		if err != nil {
			t.Fatal(err)
		}
		if less := p.Removals(node); less != nil && !carriesTaint(less.After(node), render.TaintID{Key: old.Key, Effect: old.Effect}, old.Value) {
			t.Errorf("%s: after the removals it has the taints %v", name, less.After(node).Taints)
		}
	}
}
