package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// partsComeToTheWhole: what is written alone of a plan leaves all else as it is, and makes
// a record of what stands; what is due after it comes to what one write comes to. The walls
// are written to a node that somebody else has written meanwhile.
func (at step) partsComeToTheWhole(t *testing.T, seen *counts) {
	t.Helper()
	if walls := at.p.Walls(); walls != nil {
		if walls != at.p {
			seen.walls++
		}
		for _, change := range walls.Changes {
			if change.Field == Annotation || change.Field == Label && render.KubeletMaySet(change.Key) {
				t.Errorf("a kubelet may have a say in %s %s, which is in the walls", change.Field, change.Key)
			}
		}
		patch, err := walls.TestedPatch(at.before)
		if err != nil {
			t.Fatal(err)
		}
		busy := at.s.update(t, at.before, "kubelet", func(node *NodeState) {
			if len(node.Annotations) > 0 { // else the patch makes them all
				node.Annotations["busy"] = "1"
			}
		})
		at.partComesToTheWhole(t, "walls", walls, busy, at.s.send(t, busy, patch))
	}
	if removals := at.p.Removals(); removals != nil {
		seen.removals++
		patch, err := removals.Patch(at.before)
		if err != nil {
			t.Fatal(err)
		}
		at.partComesToTheWhole(t, "removals", removals, at.before, at.s.send(t, at.before, patch))
	}
}

func (at step) partComesToTheWhole(t *testing.T, name string, part *NodePlan, before, node *NodeState) {
	t.Helper()
	if diff := cmp.Diff(standing(part.After(before)), standing(node)); diff != "" {
		t.Errorf("%s (-planned +written):\n%s", name, diff)
	}
	if diff := cmp.Diff(part.Record.String(), node.Annotations[v1.AppliedAnnotation]); diff != "" {
		t.Errorf("the record of %s (-planned +written):\n%s", name, diff)
	}
	if at.p.unsettled {
		return // another write is due after the whole
	}
	rest, _ := at.s.write(t, node, at.expansion())
	want, got := standing(at.node), standing(rest)
	delete(got[Annotation], "busy")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s and the rest (-in one write +in two):\n%s", name, diff)
	}
	if diff := cmp.Diff(at.node.Annotations[v1.AppliedAnnotation], rest.Annotations[v1.AppliedAnnotation]); diff != "" {
		t.Errorf("the record of %s and the rest (-in one write +in two):\n%s", name, diff)
	}
}
