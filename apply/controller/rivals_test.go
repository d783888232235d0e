package controller

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const redPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: red}
spec:
  labels: {color: red, only-red: "yes"}
  taints: [{key: paint, value: red, effect: NoSchedule}]
`

const bluePool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: blue}
spec:
  labels: {color: blue, only-blue: "yes"}
  taints: [{key: paint, value: blue, effect: NoSchedule}]
`

func isConflicted(nodes int32, texts ...string) func(*v1.NodePool) error {
	return func(pool *v1.NodePool) error {
		if counts := pool.Status.Nodes; counts == nil || counts.Conflicted != nodes {
			return fmt.Errorf("counts are %+v", counts)
		}
		for _, kind := range []string{v1.ConflictedCondition, v1.StalledCondition} {
			if err := conditionIs(pool.Status.Conditions, kind, metav1.ConditionTrue, v1.ConflictReason, texts...); err != nil {
				return err
			}
		}
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.ConflictReason)
	}
}

func colored(labels map[string]string) map[string]string {
	all := role("red", "blue")
	maps.Copy(all, labels)
	return all
}

// Of equal priority the older pool wins, on nodes that were there before the other
// came and on those that come after it, whatever else has happened meanwhile.
func TestEqualPriorityIsTheOlderPools(t *testing.T) {
	w := newWorld(t)
	w.node("before", role("red", "blue"))
	w.pool(redPool)
	w.isReady("red", 1)
	w.isOlder("red", func() { w.pool(bluePool) })
	w.node("after", role("red", "blue"))
	w.node("blue-only", role("blue"))
	red := colored(map[string]string{"color": "red", "only-red": "yes", "only-blue": "yes"})
	asRed := func() {
		t.Helper()
		for _, node := range []string{"before", "after"} {
			w.carries(node, red, "paint=red:NoSchedule")
		}
		w.isReady("red", 2)
		w.poolIs("blue", "reports the conflict", isConflicted(2, `node after: label color stays "red", which is pool red's: of pools of equal priority the older one wins; pool blue wants "blue"`, "taint paint:NoSchedule"))
	}
	asRed()
	w.hasEvent("blue", v1.ConflictReason, "node", "color")
	blueOnly := role("blue")
	maps.Copy(blueOnly, map[string]string{"color": "blue", "only-blue": "yes"})
	w.carries("blue-only", blueOnly, "paint=blue:NoSchedule")
	w.staysQuiet()

	w.stop()
	w.start()
	asRed()
}

// isOlder makes a pool that a later second of the API server's clock creates.
func (w *world) isOlder(than string, create func()) {
	w.t.Helper()
	older := &v1.NodePool{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Name: than}, older); err != nil {
		w.t.Fatal(err)
	}
	probe := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}}
	cluster.Eventually(w.t, "the clock of the API server has passed the second in which "+than+" was created", waitTimeout, func() error {
		would := probe.DeepCopy()
		if err := w.Create(w.t.Context(), would, client.DryRunAll); err != nil {
			return err
		}
		if !would.CreationTimestamp.After(older.CreationTimestamp.Time) {
			return fmt.Errorf("it is %v still", would.CreationTimestamp)
		}
		return nil
	})
	create()
}

// Pools of one revision that contend for a key are older the earlier their names are,
// and younger than those that were there, also within a second: that is what a plan
// goes by.
func TestContendersAreCreatedInOrder(t *testing.T) {
	cluster.Long(t)
	w := newWorld(t)
	w.stop()
	contender := func(name, value string) render.Definition {
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": v1.LabelValue(value)}}}
		return render.Definition{Pool: pool, File: name + ".yaml", Line: 1}
	}
	applier, revision := apply.New(w), plan.Revision{Source: "order", Name: "main@sha1:1"}
	write := func() {
		t.Helper()
		live, err := loop.ListPools(t.Context(), w)
		w.do(err)
		p, err := plan.Pools(revision, live)
		w.do(err)
		w.do(applier.Pools(t.Context(), p))
	}
	revision.Pools = []render.Definition{contender("zz", "first")}
	write()
	for i := range 30 {
		revision.Pools = append(revision.Pools, contender(fmt.Sprintf("p%02d", i), fmt.Sprint("v", i)))
	}
	write()
	live, err := loop.ListPools(t.Context(), w)
	w.do(err)
	created := map[string]*v1.NodePool{}
	for _, pool := range live {
		created[pool.Name] = pool
	}
	before := created["zz"].CreationTimestamp
	if !created["p00"].CreationTimestamp.After(before.Time) {
		t.Errorf("p00 was created at %v, and zz, which is older, at %v", created["p00"].CreationTimestamp, before)
	}
	for i := range 30 {
		at := created[fmt.Sprintf("p%02d", i)].CreationTimestamp
		if at.Before(&before) {
			t.Errorf("p%02d was created at %v, and the one before it at %v", i, at, before)
		}
		before = at
	}
	for _, pool := range live {
		pool.Finalizers = nil
		w.do(w.Update(t.Context(), pool))
		w.do(w.Delete(t.Context(), pool))
	}
}
