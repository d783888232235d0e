package controller

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// fastBackoff is a backoff whose contests a test sees within seconds. The delays grow
// without a bound that a test could reach.
var fastBackoff = plan.RepairBackoff{First: 50 * time.Millisecond, Most: time.Hour, Window: time.Hour, Quiet: 10 * time.Second}

// shortBackoff is a backoff that a test need not wait for in which somebody changes
// keys of pools for long.
var shortBackoff = plan.RepairBackoff{First: 10 * time.Millisecond, Most: time.Second, Window: time.Second, Quiet: 2 * time.Second}

const gatedPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: gated}
spec:
  nodeNames: ["gated-*"]
  conflictPolicy: TakeOver
  labels: {tier: gold}
  annotations: {note: mine}
  taints: [{key: ready, value: "no", effect: NoSchedule}]
`

// startWith runs the loops again, with another backoff.
func (w *world) startWith(backoff plan.RepairBackoff) {
	w.t.Helper()
	w.stop()
	w.stop = runLoops(w.t, w.config, Options{repairs: backoff}, testr.NewWithOptions(w.t, testr.Options{Verbosity: -1}))
}

// rival watches all nodes and changes each at once that is not as it wants it, as
// node-readiness-controller does with the taints of its rules. It runs until the
// returned function is called.
func (w *world) rival(manager string, change func(*corev1.Node) (changed bool)) (stop func()) {
	w.t.Helper()
	watching, err := client.NewWithWatch(w.cluster.Config, client.Options{Scheme: w.Scheme()})
	w.do(err)
	nodes, err := watching.Watch(w.t.Context(), &corev1.NodeList{})
	w.do(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range nodes.ResultChan() {
			node, isNode := event.Object.(*corev1.Node)
			if !isNode || event.Type == watch.Deleted || !change(node) {
				continue
			}
			err := watching.Update(w.t.Context(), node, client.FieldOwner(manager))
			if err := client.IgnoreNotFound(ignoreConflict(err)); err != nil && w.t.Context().Err() == nil {
				w.t.Errorf("%s: %v", manager, err)
			}
		}
	}()
	return func() { nodes.Stop(); <-ended }
}

// withoutGate removes the taint that the pool wants, whenever it is there.
func withoutGate(node *corev1.Node) bool {
	before := len(node.Spec.Taints)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "ready" })
	return len(node.Spec.Taints) < before
}

// silver gives the label of the pool another value, whenever it has the pool's.
func silver(node *corev1.Node) bool {
	changes := node.Labels["tier"] == "gold"
	if changes {
		node.Labels["tier"] = "silver"
	}
	return changes
}

// contestedEvents are the events of a pool about its contests, each with how often it
// happened.
func (w *world) contestedEvents(pool string) (events []string) {
	w.t.Helper()
	var all corev1.EventList
	w.do(w.List(w.t.Context(), &all, client.InNamespace(metav1.NamespaceDefault)))
	for _, event := range all.Items {
		if event.InvolvedObject.Name == pool && event.Reason == v1.ContestedReason {
			more := 0
			if event.Series != nil {
				more = int(event.Series.Count) - 1
			}
			for range 1 + more {
				events = append(events, event.Message)
			}
		}
	}
	return events
}

// contestedFor waits until the pool reports contests of its taint and its label on
// that many nodes, each put back so often.
func (w *world) contestedFor(nodes, repairs int32) {
	w.t.Helper()
	w.poolIs("gated", fmt.Sprintf("reports contests with %d repairs", repairs), func(pool *v1.NodePool) error {
		contests := pool.Status.Contests
		if contests == nil || contests.Nodes != nodes || contests.Keys != 2 || len(contests.First) != 2 {
			return fmt.Errorf("contests are %+v", contests)
		}
		for i, want := range []v1.ContestedKey{
			{Field: "label", Key: "tier", Managers: []string{"flapper"}},
			{Field: "taint", Key: "ready:NoSchedule", Managers: []string{"node-readiness-controller"}},
		} {
			got := contests.First[i]
			named := slices.Contains(got.Managers, want.Managers[0])
			if got.Field != want.Field || got.Key != want.Key || got.Nodes != nodes || got.Repairs < repairs || !named || len(got.NodeNames) != 3 {
				return fmt.Errorf("contest %d is %+v", i, got)
			}
		}
		if pool.Status.Nodes.Updated != 0 {
			return fmt.Errorf("%d nodes count as updated", pool.Status.Nodes.Updated)
		}
		for _, kind := range []string{v1.ContestedCondition, v1.StalledCondition} {
			if err := conditionIs(pool.Status.Conditions, kind, metav1.ConditionTrue, v1.ContestedReason,
				"label tier on nodes gated-0, gated-1, gated-2 and 1 more is changed again and again by flapper",
				"taint ready:NoSchedule on nodes gated-0", "(node-readiness-controller wrote the taints last)"); err != nil {
				return err
			}
		}
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.ContestedReason)
	})
}

// Two other controllers undo on every node what a pool puts there, as fast as they
// see it. The pool puts it back ever more rarely, says so once, does all else at once,
// and is right as soon as they have stopped.
func TestFightsAreFoughtEverMoreRarely(t *testing.T) {
	cluster.Long(t)
	const size = 4
	w := newWorld(t)
	w.startWith(fastBackoff)
	var names []string
	for i := range size {
		names = append(names, fmt.Sprintf("gated-%d", i))
		w.node(names[i], nil, "theirs=:NoSchedule")
	}
	w.isReadyNode(names...)
	w.pool(gatedPool)
	w.isReady("gated", size)
	w.becomesIdle()

	mark, began := w.mark(), time.Now()
	stopTaint := w.rival("node-readiness-controller", withoutGate)
	stopLabel := w.rival("flapper", silver)
	w.contestedFor(size, 3)
	w.contestedFor(size, 6)
	w.change("gated", func(pool *v1.NodePool) {
		pool.Spec.Annotations["note"] = "other"
		pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: "more", Effect: "NoSchedule"})
	})
	w.eventually("a change of the pool is carried out all the same", func() error {
		for _, name := range names {
			node := w.get(name)
			if node.Annotations["note"] != "other" || !slices.Contains(ownTaints(node), "more=:NoSchedule") || !slices.Contains(ownTaints(node), "theirs=:NoSchedule") {
				return fmt.Errorf("node %s: %v, %v", name, node.Annotations, ownTaints(node))
			}
		}
		return nil
	})
	// After n repairs the delays add up to First * 2^n, so within any time there are
	// no more than this; each of the two keys, and the one change of the pool.
	elapsed := time.Since(began)
	most := 2*(2+bits.Len64(uint64(elapsed/fastBackoff.First))) + 1
	done, refused := w.nodeWrites(mark)
	t.Logf("in %v: writes %v, at most %d allowed each; %d refused; %d of the status", elapsed, done, most, refused, w.statusWrites(mark, "gated"))
	for name, writes := range done {
		if writes > most {
			t.Errorf("node %s was written %d times in %v, at most %d are allowed", name, writes, elapsed, most)
		}
	}
	if events := w.contestedEvents("gated"); len(events) < 1 || len(events) > 2 {
		t.Errorf("%d events of two fights: %q", len(events), events)
	}
	if statuses := w.statusWrites(mark, "gated"); statuses > 12 {
		t.Errorf("the status was written %d times", statuses)
	}

	stopTaint()
	stopLabel()
	for _, name := range names {
		w.carries(name, map[string]string{"tier": "gold", v1.RoleLabel("gated"): ""}, "more=:NoSchedule", "ready=no:NoSchedule", "theirs=:NoSchedule")
	}
	w.isReady("gated", size)
	w.poolIs("gated", "reports no contest any more", func(pool *v1.NodePool) error {
		for _, condition := range pool.Status.Conditions {
			if condition.Type == v1.ContestedCondition {
				return fmt.Errorf("it has %+v", condition)
			}
		}
		if pool.Status.Contests != nil {
			return fmt.Errorf("it has %+v", pool.Status.Contests)
		}
		return nil
	})
	w.hasEvent("gated", v1.ContestedReason+"Resolved")
	w.staysQuiet()

	w.kubectl("taint", "node", "gated-0", "ready:NoSchedule-")
	w.carries("gated-0", map[string]string{"tier": "gold", v1.RoleLabel("gated"): ""}, "more=:NoSchedule", "ready=no:NoSchedule", "theirs=:NoSchedule")
	w.isReady("gated", size)
}
