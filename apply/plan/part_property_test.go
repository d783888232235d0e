package plan

import (
	"maps"
	"testing"
	"time"

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
	if removals := at.p.Removals(at.before); removals != nil {
		seen.removals++
		for key, entry := range at.p.recorded.Labels {
			after, still := removals.Record.Labels[key]
			if _, kept := at.p.Record.Labels[key]; still && after.Value != at.p.Record.Labels[key].Value && kept && !at.expansion().Holds(entry.Pool) {
				t.Errorf("label %s, which gets another value, stays %q", key, after.Value)
			}
		}
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
	if at.p.unsettled || part.givesBack(at.p) {
		return // another write is due after the whole, or others have got back what they had
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

// givesBack reports whether a part of a plan leaves a label to others, or forgets that it was
// adopted, which a pool gets with the whole.
func (p *NodePlan) givesBack(whole *NodePlan) bool {
	for key := range whole.Record.Labels {
		before, ours := p.recorded.Labels[key]
		after, changes := p.labels.changed[key]
		if _, still := p.Record.Labels[key]; ours && !still && (!changes || after != nil || before.Adopted) {
			return true
		}
	}
	return false
}

// Of a change that a node follows in its turn, the walls may come first and the rest after
// them: the record then says of it what it says of one write.
func TestPartsAreOneChange(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(worlds / 2) {
		w := newRolloutWorld(t, seed)
		s := newStepper(w)
		s.onWrite = func(node *NodeState, o NodeOutcome, facts NodeFacts) {
			walls := o.Admission.Plan.Walls()
			if walls == nil || walls == o.Admission.Plan || !o.Begins {
				return
			}
			seen["changes"]++
			parted := parted{before: node, whole: o.Admission.Plan.After(node), part: walls.After(node), facts: facts}
			parted.rest = parted.next(t, parted.part, s.expansion)
			if diff := cmp.Diff(standing(parted.whole), standing(parted.rest)); diff != "" {
				t.Errorf("seed %d: node %s (-in one write +in two):\n%s", seed, node.Name, diff)
			}
			if diff := cmp.Diff(timeless(parted.whole), timeless(parted.rest)); diff != "" {
				t.Errorf("seed %d: the change of node %s (-in one write +in two):\n%s", seed, node.Name, diff)
			}
		}
		s.steps(w.now, w.period/2)
	}
	t.Logf("%v", seen)
	if seen["changes"] < worlds/10 {
		t.Errorf("the worlds have too few changes: %v", seen)
	}
}

// parted is a node that has followed a change in one write, a part of it, and the rest after
// that.
type parted struct {
	before, whole, part, rest *NodeState
	facts                     NodeFacts
}

// next is the node after what may be written to it next.
func (p parted) next(t *testing.T, node *NodeState, expansion *render.Expansion) *NodeState {
	t.Helper()
	facts := p.facts
	facts.Now = facts.Now.Add(time.Second)
	o := NodeOutcomeOf(node, expansion, facts)
	if o.Admission.Plan == nil {
		t.Fatalf("node %s is not written: %s", node.Name, o.State)
	}
	return o.Admission.Plan.After(node)
}

// timeless is what a node has followed by its record, without the times.
func timeless(node *NodeState) map[string]FollowedPool {
	pools := maps.Clone(LastChangeOf(node).Pools)
	for name, followed := range pools {
		followed.At = time.Time{}
		pools[name] = followed
	}
	return pools
}
