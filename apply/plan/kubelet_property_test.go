package plan

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// moves is how often somebody does something in the world of a kubelet.
const moves = 24

// TestNoKubeletGetsThroughAWall: whatever a kubelet writes on its node, in whatever
// order, and whatever pools of others come and go meanwhile, as long as an
// administrator has the node outside of a wall it has none of the labels that the wall
// keeps from kubelets and is sent no pod of its RuntimeClass; once thrown out, it has
// them no more. Within the wall it carries its taint, or a conflict is reported. And
// nobody loses by our writes what an administrator has put on the node.
func TestNoKubeletGetsThroughAWall(t *testing.T) {
	s, seen := newServer(), map[string]int{}
	for seed := range uint64(worlds) {
		w := newKubeletWorld(t, s, seed, seen)
		for range moves {
			switch w.r.IntN(8) {
			case 0:
				w.administrator()
			case 1:
				w.author()
			case 2, 3:
				w.carryOut()
			default:
				w.kubelet()
			}
			w.outsideIsOutside()
			w.nothingOfAnAdministratorIsLost()
			if t.Failed() {
				t.Fatalf("seed %d: by %s, %s", seed, w.by, w.policy)
			}
		}
	}
	for _, kind := range []string{
		"admitted", "refused", "joined anew", "outside", "inside", "given by an author",
		"thrown out with a label that another applies",
	} {
		if seen[kind] < worlds/10 {
			t.Errorf("%s: %d times in %d worlds, too few to show anything", kind, seen[kind], worlds)
		}
	}
	t.Logf("%v", seen)
}

// carryOut carries the plan out until it comes to rest.
func (w *kubeletWorld) carryOut() {
	w.t.Helper()
	var p *NodePlan
	for range 3 {
		if w.node, p = w.s.write(w.t, w.node, w.expansion()); p.NoOp() {
			break
		}
	}
	if !p.NoOp() {
		w.t.Error("a fourth write is due")
	}
	w.settled = true
	if w.inside {
		w.seen["inside"]++
		w.memberIsSetApart(p)
	}
}

// outsideIsOutside: a node that is not let in looks like a member to nobody.
func (w *kubeletWorld) outsideIsOutside() {
	w.t.Helper()
	if w.inside || !w.settled {
		return
	}
	w.seen["outside"]++
	for pool, key := range map[string]string{"wall": wallKey, "inner": innerKey} {
		if w.sentPodsOf(pool) {
			w.t.Errorf("outside, and sent the pods of the RuntimeClass of %s: %v", pool, w.node.Labels)
		}
		if _, stands := w.node.Labels[v1.RoleLabel(pool)]; stands {
			w.t.Errorf("outside, with the role label of %s", pool)
		}
		value, stands := w.node.Labels[key]
		switch {
		case stands && w.givenByAnAuthor(key):
			w.seen["given by an author"]++
		case stands:
			w.t.Errorf("outside, with the label %s=%s", key, value)
		}
	}
}

// sentPodsOf reports whether the node has all that the RuntimeClass of a pool selects.
func (w *kubeletWorld) sentPodsOf(pool string) bool {
	for key, want := range w.classes[pool] {
		if value, stands := w.node.Labels[key]; !stands || value != want {
			return false
		}
	}
	return true
}

// givenByAnAuthor reports whether another pool, which has the node, wants a label there.
func (w *kubeletWorld) givenByAnAuthor(key string) bool {
	p, err := Node(w.node, w.expansion())
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.ContainsFunc(p.Pools, func(name string) bool {
		_, wants := w.pools[name].Spec.Labels[key]
		return wants
	})
}

// memberIsSetApart: a member cannot shed what keeps others' pods away, nor hide it. No wall lacks
// room.
func (w *kubeletWorld) memberIsSetApart(p *NodePlan) {
	w.t.Helper()
	id := "tenant:" + string(corev1.TaintEffectNoSchedule)
	has := standing(w.node)
	for field, wanted := range wishes(w.pools["wall"]) {
		for key, value := range wanted {
			if have, stands := has[field][key]; stands && have == value {
				continue
			}
			reported := slices.ContainsFunc(conflictsOf(p), func(c Conflict) bool {
				return c.Pool == "wall" && c.Field == field && c.Key == key && (c.NoRoom && field == Annotation || w.policy == v1.ReportConflicts)
			})
			if !reported {
				w.t.Errorf("inside, without %s %s=%s, and no conflict says so: %v", field, key, value, conflictsOf(p))
			}
			if key == id {
				w.seen["conflicts over the taint"]++
			}
		}
	}
}

// nothingOfAnAdministratorIsLost: what a kubelet says about who has set what makes us
// remove nothing.
func (w *kubeletWorld) nothingOfAnAdministratorIsLost() {
	w.t.Helper()
	if !w.marked {
		return
	}
	if w.node.Labels[adminKey] != "a" || !slices.Contains(w.node.Taints, adminTaint) {
		w.t.Errorf("what an administrator has put there is gone: labels %v, taints %v", w.node.Labels, w.node.Taints)
	}
}
