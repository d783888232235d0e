package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// edit has somebody change the node.
func (w *memoryWorld) edit(change func(*NodeState)) {
	w.node = w.node.DeepCopy()
	change(w.node)
}

// decide is what becomes of the node.
func (w *memoryWorld) decide() NodeOutcome {
	w.facts.Rollouts = AllRollouts(w.pools)
	return NodeOutcomeOf(w.node, expand(w.pools...), w.facts)
}

// writeWalls writes the walls alone, as a kubelet writes the node without a pause.
func (w *memoryWorld) writeWalls() {
	w.t.Helper()
	o := w.decide()
	walls := o.Admission.Plan.Walls()
	if walls == nil || walls == o.Admission.Plan {
		w.t.Fatalf("of %v, %v would be written", o.Admission.Plan.Changes, walls)
	}
	w.facts.Memory = w.facts.Remember(w.node, o, walls, false)
	w.node = walls.After(w.node)
}

// A label by which somebody has put a node into a pool, and that the pool wants as well, stays off
// when they take it off, though the node leaves the pool later.
func TestLabelOfAMemberIsItsOwners(t *testing.T) {
	const gpu = "example.com/gpu"
	pool := func(change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("p", all(labelled("1"), func(p *v1.NodePool) {
			p.Spec.NodeNames, p.Spec.Selector = nil, &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{gpu: "yes"}}
			p.Spec.Labels[gpu] = "yes"
		}, change))
	}
	w := newMemoryWorld(t, nil)
	w.edit(func(node *NodeState) { node.Labels = map[string]string{gpu: "yes"} })
	w.pools = []*v1.NodePool{pool(func(*v1.NodePool) {})}
	w.pass()
	w.pools = []*v1.NodePool{pool(closed)}
	w.pass()
	w.edit(func(node *NodeState) { delete(node.Labels, gpu) })
	for range 2 {
		if o := w.pass(); w.node.Labels[gpu] != "" || w.node.Labels[key] != "1" || waitsText(o) != "p[p]" {
			t.Errorf("the node has the labels %v, and waits %q", w.node.Labels, waitsText(o))
		}
	}
}

// A key that was handed over while its pool waits is not remembered any longer.
func TestKeyIsHandedOverWhileItsPoolWaits(t *testing.T) {
	labels := func(pairs ...string) *v1.NodePool { return waitingPool("p", labelPairs(pairs...)) }
	for name, after := range map[string]*v1.NodePool{
		"it is still wanted": labels("k", "1", "a", "2"), "it is not wanted any more": labels("a", "2"),
	} {
		w := newMemoryWorld(t, nil, labels("k", "1", "a", "1"))
		w.pools = []*v1.NodePool{changed(after, closed)}
		w.pass()
		w.edit(func(node *NodeState) {
			record := mustRead(t, node)
			record.Labels = maps.Clone(record.Labels)
			delete(record.Labels, key)
			node.Annotations[v1.AppliedAnnotation] = record.String()
		})
		w.pass()
		if o := w.decide(); w.facts.recordReplaced(o.Plan) {
			t.Errorf("%s: it counts as replaced", name)
		}
		w.edit(func(node *NodeState) { delete(node.Labels, key) })
		if w.pass(); w.node.Labels[key] != "" {
			t.Errorf("%s: its new owner has removed it, and it is back", name)
		}
	}
}

// What was written of a plan, because a kubelet writes its node without a pause, stays when the
// window closes, and so it does when the rollout is paused.
func TestWallsWrittenAloneStay(t *testing.T) {
	taint := func(key, value string) v1.Taint { return v1.Taint{Key: key, Value: value, Effect: "NoSchedule"} }
	pool := func(label string, taints []v1.Taint, change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("p", all(labelled(label), func(p *v1.NodePool) { p.Spec.Taints = taints }, change))
	}
	before := []v1.Taint{taint("t", "1"), taint("u", "1")}
	for name, after := range map[string][]v1.Taint{"one is released": {taint("u", "1")}, "one is another": {taint("t", "2"), taint("u", "1")}} {
		w := newMemoryWorld(t, nil, pool("1", before, func(*v1.NodePool) {}))
		w.pools, w.facts.Now = []*v1.NodePool{pool("2", after, closed)}, opensAt
		w.writeWalls()
		want := taintsOf(w.node)
		w.facts.Now = closedAt.Add(24 * time.Hour)
		if o := w.pass(); !slices.Equal(taintsOf(w.node), want) {
			t.Errorf("%s: when the window has closed, it has the taints %v, want %v; it waits %q", name, taintsOf(w.node), want, waitsText(o))
		}
		w.pools[0].Spec.Rollout.Paused = true
		w.facts.Now = opensAt.Add(24 * time.Hour)
		if o := w.pass(); !slices.Equal(taintsOf(w.node), want) {
			t.Errorf("%s: paused, it has the taints %v, want %v; it waits %q", name, taintsOf(w.node), want, waitsText(o))
		}
	}
}

// There is no answer to the write that puts a wall back: it is remembered, whether or not it comes.
func TestNoAnswerForgetsNothing(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		w := newMemoryWorld(t, nil, wallPool())
		w.pools = []*v1.NodePool{changed(wallPool(), closed)}
		w.without(true)
		o := w.decide()
		w.facts.Memory = w.facts.Remember(w.node, o, o.Admission.Plan, true)
		if arrives {
			w.node = o.Admission.Plan.After(w.node)
		}
		for range 2 {
			if w.pass(); !w.has(wallID, "yes") {
				t.Errorf("arrives: %t: the node has the taints %v", arrives, w.node.Taints)
			}
			w.without(true)
		}
	}
}

// A change that may have been written is what the node has once it shows it.
func TestWhatIsNotConfirmedIsTakenWhereItStands(t *testing.T) {
	w := newMemoryWorld(t, nil, waitingPool("p", labelled("1")))
	w.pools, w.facts.Now = []*v1.NodePool{waitingPool("p", all(labelled("2"), closed))}, opensAt
	o := w.decide()
	w.facts.Memory = w.facts.Remember(w.node, o, o.Admission.Plan, true)
	if !w.facts.Memory.Expects(w.node) || !w.facts.Memory.Expects(o.Admission.Plan.After(w.node)) {
		t.Error("the node surprises, with the change or without it")
	}
	w.node = o.Admission.Plan.After(w.node)
	w.pools, w.facts.Now = []*v1.NodePool{waitingPool("p", all(labelled("1"), closed))}, closedAt.Add(24*time.Hour)
	for range 2 {
		if o := w.pass(); w.node.Labels[key] != "2" || waitsText(o) != "p[p]" {
			t.Errorf("it has %q, and waits %q", w.node.Labels[key], waitsText(o))
		}
	}
}

// An older node, of a cache that is behind, does not pass for what the node is.
func TestMemoryExpectsTheNode(t *testing.T) {
	w := newMemoryWorld(t, nil, wallPool())
	older := w.node
	w.pools = append(w.pools, waitingPool("p", labelled("1")))
	w.pass()
	if !w.facts.Memory.Expects(w.node) || w.facts.Memory.Expects(older) || !(*Memory)(nil).Expects(older) {
		t.Error("the older node passes for the one that was written, or that one does not")
	}
}

// Of several writes without an answer, any one may have arrived; the same one again is no other.
func TestNoAnswerToSeveralWrites(t *testing.T) {
	pool := func(value string) *v1.NodePool {
		return waitingPool("p", all(labelled(value), limited("1", time.Minute)))
	}
	w := newMemoryWorld(t, nil, waitingPool("p", labelled("1")))
	var arrived []*NodeState
	for i := range maxUnconfirmed {
		w.pools, w.facts.Turn = []*v1.NodePool{pool(fmt.Sprint("v", i))}, Turn{In: []string{"p"}}
		for range 3 {
			o := w.decide()
			w.facts.Memory = w.facts.Remember(w.node, o, o.Admission.Plan, true)
			w.facts.Now = w.facts.Now.Add(3 * time.Second)
			arrived = append(arrived, o.Admission.Plan.After(w.node))
		}
	}
	w.pools, w.facts.Turn = []*v1.NodePool{pool("last")}, Turn{}
	for _, node := range append(arrived, w.node) {
		x := *w
		x.node = node
		if o := x.pass(); !x.facts.Memory.Expects(x.node) || x.node.Labels[key] != node.Labels[key] || waitsText(o) != "p[p]" {
			t.Errorf("it had %q, has %q, and waits %q", node.Labels[key], x.node.Labels[key], waitsText(o))
		}
	}
	w.facts.Turn = Turn{In: []string{"p"}}
	o := w.decide()
	if w.facts.Memory = w.facts.Remember(w.node, o, o.Admission.Plan, true); w.facts.Memory != nil {
		t.Errorf("after %d writes, still something is known: %+v", maxUnconfirmed+1, w.facts.Memory)
	}
}

// A pool that waits does not get what another one has shared, when its owner takes that off.
func TestSharedKeyIsOfThePoolThatWantedIt(t *testing.T) {
	wants := func(name string, change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool(name, all(tainted("wall", keptOffID.Effect), change))
	}
	w := newMemoryWorld(t, nil, waitingPool("a", func(*v1.NodePool) {}))
	w.edit(func(node *NodeState) {
		node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: "wall", Effect: keptOffID.Effect})
	})
	w.pools = []*v1.NodePool{wants("a", func(*v1.NodePool) {})}
	w.pass()
	w.pools = []*v1.NodePool{wants("q", all(closed, also("another", corev1.TaintEffectPreferNoSchedule), labelPairs("more", "1")))}
	w.pools[0].Spec.Taints = append(w.pools[0].Spec.Taints, v1.Taint{Key: "example.com/more", Effect: corev1.TaintEffectNoSchedule})
	w.pass()
	w.without(false)
	if o := w.pass(); len(w.node.Taints) > 0 || waitsText(o) == "" {
		t.Errorf("the node has the taints %v, and waits %q", w.node.Taints, waitsText(o))
	}
}

// What is remembered and gone is of no pool by which a finalizer waits.
func TestWhatIsGoneIsNotCarried(t *testing.T) {
	w := newMemoryWorld(t, nil, wallPool(), waitingPool("q", labelled("1")))
	w.without(true)
	w.node.Labels = map[string]string{}
	paused := w.node.DeepCopy()
	annotate(paused, v1.ReconcileAnnotation, v1.Disabled)
	w.pools = []*v1.NodePool{waitingPool("q", labelled("2"))}
	for name, node := range map[string]*NodeState{"in use": w.node, "paused": paused} {
		x := *w
		x.node = node
		o := x.decide()
		if carried := o.CarriedBefore(); len(carried) > 0 || o.Admission.Plan != nil && len(o.Admission.Plan.Releases()) > 0 {
			t.Errorf("%s: it carries keys of %v", name, carried)
		}
	}
}

// A key that was handed over while the node is paused stays its new owner's.
func TestKeyIsHandedOverWhileTheNodeIsPaused(t *testing.T) {
	w := newMemoryWorld(t, nil, waitingPool("p", all(labelled("1"), tainted("wall", keptOffID.Effect))))
	w.pools = []*v1.NodePool{waitingPool("p", all(labelled("2"), tainted("wall", keptOffID.Effect), closed))}
	w.pass()
	look := func() {
		o := w.decide()
		w.facts.Memory = w.facts.Remember(w.node, o, nil, false)
	}
	w.edit(func(node *NodeState) {
		annotate(node, v1.ReconcileAnnotation, v1.Disabled)
		delete(node.Annotations, v1.AppliedAnnotation)
	})
	look()
	w.without(false)
	look()
	w.edit(func(node *NodeState) { delete(node.Annotations, v1.ReconcileAnnotation) })
	if w.pass(); len(w.node.Taints) > 0 {
		t.Errorf("it is back: %v", w.node.Taints)
	}
}

// Two controllers at work by mistake, one of which has its turn and the other not, do not undo what
// the other writes.
func TestTwoMemoriesDoNotFight(t *testing.T) {
	walls := func(value string, change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("p", all(tainted(value, keptOffID.Effect), change))
	}
	for name, change := range map[string]func(*v1.NodePool){"turns": limited("1", time.Minute), "windows": closed} {
		a := newMemoryWorld(t, nil, walls("1", func(*v1.NodePool) {}), waitingPool("q", labelled("1")))
		pools := []*v1.NodePool{walls("2", change), waitingPool("q", all(labelled("2"), closed))}
		a.pools = pools
		b := *a
		a.pass() // which has no turn, and remembers the first wall
		if name == "turns" {
			b.facts.Turn = Turn{In: []string{"p"}}
		} else {
			b.facts.Now = opensAt
		}
		b.pass()
		for i := range 6 {
			before := b.node.Annotations[v1.AppliedAnnotation]
			a.node = b.node
			o := a.pass()
			if b.node = a.node; !carriesTaint(a.node, keptOffID, "2") {
				t.Errorf("%s, round %d: the node has %v, and waits %q", name, i, a.node.Taints, waitsText(o))
			}
			b.facts.Now = b.facts.Now.Add(30 * time.Second)
			a.facts.Now = a.facts.Now.Add(30 * time.Second)
			if b.pass(); i > 2 && b.node.Annotations[v1.AppliedAnnotation] != before {
				t.Errorf("%s, round %d: they write still: %s", name, i, b.node.Annotations[v1.AppliedAnnotation])
			}
		}
	}
}

// What is remembered of a paused pool stays, whatever of other pools is refused, or put back later.
func TestPausedPoolIsRememberedBesideOthers(t *testing.T) {
	for name, facts := range map[string]NodeFacts{
		"refused":         {Refused: map[string]Refusal{"r": {}}},
		"put back lately": {Backoff: DefaultRepairBackoff()},
	} {
		w := newMemoryWorld(t, nil, wallPool(), waitingPool("r", labelPairs("r", "1")), waitingPool("q", labelPairs("q", "1")))
		w.facts.Refused, w.facts.Backoff = facts.Refused, facts.Backoff
		w.pools = []*v1.NodePool{paused(wallPool()), waitingPool("r", labelPairs("r", "1")), waitingPool("q", labelPairs("q", "1"))}
		w.edit(func(node *NodeState) { delete(node.Labels, "example.com/r") })
		o := w.decide()
		w.pass()
		w.facts.Repairs = o.Admission.Written(w.facts.Now)
		w.without(true)
		w.edit(func(node *NodeState) {
			node.Labels = map[string]string{v1.RoleLabel("r"): "", v1.RoleLabel("q"): ""}
		})
		w.pools[1] = waitingPool("r", labelPairs("r", "2"))
		if name != "refused" {
			w.pools[1] = waitingPool("r", labelPairs("r", "1"))
		}
		if o = w.pass(); w.node.Labels["example.com/r"] != "" || w.node.Labels["example.com/q"] != "1" || len(w.node.Taints) > 0 {
			t.Errorf("%s: the node has the labels %v and the taints %v", name, w.node.Labels, w.node.Taints)
		}
		w.pools[0] = changed(wallPool(), closed)
		if o = w.pass(); !w.has(wallID, "yes") {
			t.Errorf("%s: it goes on, and has the taints %v; it waits %q", name, w.node.Taints, waitsText(o))
		}
	}
}

// What no pool wants any more is not remembered because another pool waits.
func TestUnwantedKeyIsForgotten(t *testing.T) {
	strong := func(pool *v1.NodePool) *v1.NodePool { return changed(pool, prior(9)) }
	waits := waitingPool("q", all(labelled("2"), closed))
	w := newMemoryWorld(t, nil, strong(wallPool()), waitingPool("q", labelled("1")))
	w.pools = []*v1.NodePool{paused(strong(wallPool())), waits}
	w.pass()
	w.without(true)
	w.edit(func(node *NodeState) { node.Labels = map[string]string{key: "1", v1.RoleLabel("q"): ""} })
	w.pass()
	w.pools[0] = strong(waitingPool("wall", func(*v1.NodePool) {}))
	w.pass()
	w.pools[0] = changed(strong(wallPool()), closed)
	if o := w.pass(); len(w.node.Taints) > 0 || o.Wait.Of("wall") == nil {
		t.Errorf("the node has the taints %v, and waits %q", w.node.Taints, waitsText(o))
	}
}
