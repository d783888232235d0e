package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

var keptOffID = render.TaintID{Key: key, Effect: corev1.TaintEffectNoSchedule}

// keptOffWorld is a node in use with the passes over it.
type keptOffWorld struct {
	t     *testing.T
	node  *NodeState
	pools []*v1.NodePool
	facts NodeFacts
}

// newFollowedWorld has pools follow, of which none has to wait.
func newFollowedWorld(t *testing.T, taints []corev1.Taint, pools ...*v1.NodePool) *keptOffWorld {
	w := &keptOffWorld{t: t, node: newNode("n"), pools: pools}
	w.node.Created, w.node.Taints = metav1.NewTime(closedAt.Add(-longAgo)), taints
	w.facts.Now = closedAt
	w.pass()
	return w
}

// newKeptOffWorld has somebody else's taint keep off that of pool p, and closes the pools once
// they were followed, by a change of each.
func newKeptOffWorld(t *testing.T, change func(*v1.NodePool), pools ...*v1.NodePool) *keptOffWorld {
	w := newFollowedWorld(t, []corev1.Taint{{Key: key, Value: "theirs", Effect: keptOffID.Effect}}, pools...)
	for _, pool := range w.pools {
		change(pool)
	}
	if o := w.pass(); len(o.Plan.Conflicts) == 0 || len(o.Wait) > 0 {
		t.Fatalf("the conflicts are %v, and it waits %q", o.Plan.Conflicts, waitsText(o))
	}
	return w
}

// pass carries out what becomes of the node, and knows it from then on as a controller does.
func (w *keptOffWorld) pass() NodeOutcome {
	w.facts.Rollouts = AllRollouts(w.pools)
	o := NodeOutcomeOf(w.node, expand(w.pools...), w.facts)
	w.node = o.Admission.Plan.After(w.node)
	if state := FollowerStateOf(w.node, o, true); w.facts.LastChange.Behind(state.Change) {
		w.facts.LastChange = state.Change
	}
	return o
}

func (w *keptOffWorld) has(id render.TaintID, value string) bool {
	return carriesTaint(w.node, id, value)
}

// Somebody else's taint goes that has kept off that of a pool: that one is new to the node and
// waits, as after a restart, and comes in its window.
func TestTaintWaitsThatWasKeptOff(t *testing.T) {
	w := newKeptOffWorld(t, closed, waitingPool("p", tainted("wall", keptOffID.Effect)))
	w.node = w.node.DeepCopy()
	w.node.Taints = nil
	fresh := waitsText(NodeOutcomeOf(w.node, expand(w.pools...), NodeFacts{Rollouts: RolloutsOf(w.pools), Now: closedAt}))
	for range 3 {
		o := w.pass()
		if got := waitsText(o); got == "" || got != fresh || w.has(keptOffID, "wall") || o.Wait.Until().IsZero() {
			t.Errorf("it waits %q, and a process that starts now says %q; the node has %v", got, fresh, w.node.Taints)
		}
	}
	w.facts.Now = opensAt
	if w.pass(); !w.has(keptOffID, "wall") {
		t.Errorf("in the window the node has %v", w.node.Taints)
	}
}

// In a turn of the node it begins as any other change does.
func TestTaintThatWasKeptOffTakesItsTurn(t *testing.T) {
	w := newKeptOffWorld(t, limited("1", time.Minute), waitingPool("p", tainted("wall", keptOffID.Effect)))
	w.node = w.node.DeepCopy()
	w.node.Taints = nil
	if o := w.pass(); !slices.Equal(asked(o), []string{"p"}) || o.Begins || w.has(keptOffID, "wall") {
		t.Errorf("it asks for its turn in %v, begins: %t, and has %v", o.Asks, o.Begins, w.node.Taints)
	}
	w.facts.Turn = turnFor("p")
	if o := w.pass(); !o.Begins || !w.has(keptOffID, "wall") {
		t.Errorf("in its turn it begins: %t, and has %v", o.Begins, w.node.Taints)
	}
}

// No label draws pods to a node whose wall waits: what else was kept off of the pool waits with it.
func TestLabelThatWasKeptOffWaitsWithItsTaint(t *testing.T) {
	pool := waitingPool("p", all(tainted("wall", keptOffID.Effect), func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{"example.com/driver": "ours"}
	}))
	w := newKeptOffWorld(t, closed, pool)
	w.node = w.node.DeepCopy()
	w.node.Labels["example.com/driver"] = "theirs"
	delete(w.node.Annotations, v1.AppliedAnnotation)
	w.pass()
	w.node = w.node.DeepCopy()
	w.node.Taints = nil
	delete(w.node.Labels, "example.com/driver")
	w.pass()
	if _, has := w.node.Labels["example.com/driver"]; has || w.has(keptOffID, "wall") {
		t.Errorf("the node has the labels %v and the taints %v", w.node.Labels, w.node.Taints)
	}
	w.facts.Now = opensAt
	w.pass()
	if w.node.Labels["example.com/driver"] != "ours" || !w.has(keptOffID, "wall") {
		t.Errorf("in the window it has the labels %v and the taints %v", w.node.Labels, w.node.Taints)
	}
}

// Whoever wants the same taint waits as well, and the strongest asks for the turn.
func TestAllWaitThatWereKeptOff(t *testing.T) {
	limit := limited("1", time.Minute)
	w := newKeptOffWorld(t, limit, waitingPool("p", tainted("wall", keptOffID.Effect)), waitingPool("q", tainted("wall", keptOffID.Effect)))
	w.node = w.node.DeepCopy()
	w.node.Taints = nil
	fresh := NodeOutcomeOf(w.node, expand(w.pools...), NodeFacts{Rollouts: RolloutsOf(w.pools), Now: closedAt})
	if o := w.pass(); waitsText(o) != waitsText(fresh) || !slices.Equal(asked(o), asked(fresh)) || len(o.Asks) != 1 || strings.Count(waitsText(o), "[") != 2 {
		t.Errorf("it waits %q for %v; a process that starts now says %q and %v", waitsText(o), o.Asks, waitsText(fresh), fresh.Asks)
	}
}
