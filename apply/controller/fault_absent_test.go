package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/apply/controller/pools"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// absentWorld is a faultWorld with a pool of three nodes, and one of a single node that takes
// turns.
type absentWorld struct {
	*faultWorld
	errorLog *logLines
	kept     memory
	tier     int
}

func newAbsentWorld(t *testing.T) *absentWorld {
	t.Helper()
	w := &absentWorld{faultWorld: newFaultWorld(t, cluster.Shared(t)), errorLog: &logLines{}, tier: 1}
	for _, name := range []string{"batch-a", "batch-b", "batch-c"} {
		w.node(name, role("batch"))
	}
	w.node("turn-a", role("turns"))
	w.pool(`
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}}
`)
	w.pool(`
metadata: {name: turns}
spec: {labels: {example.com/tier: "1"}, rollout: {maxUnavailable: 1}}
`)
	w.runs()
	w.isReady("batch", 3)
	w.isReady("turns", 1)
	return w
}

// runs starts the loops, with a log of their errors.
func (w *absentWorld) runs() {
	options := Options{added: func(f *fleet.Fleet, n *nodes.Reconciler, p *pools.Reconciler, s *sources.Reconciler) {
		w.kept = memory{f, n, p, s}
	}}
	w.stop = runLoops(w.t, w.config, options, funcr.New(w.errorLog.add, funcr.Options{Verbosity: -1}))
}

// in is the same world for a subtest.
func (w *absentWorld) in(t *testing.T) {
	w.faultWorld.world = w.faultWorld.world.in(t)
}

// changes brings both pools to the next tier, the one that takes turns when the other one was
// disturbed.
func (w *absentWorld) changes(faults ...cluster.Fault) {
	w.t.Helper()
	began := time.Now()
	w.proxy.Disturb(faults...)
	w.tier++
	next := func(pool *v1.NodePool) { pool.Spec.Labels["example.com/tier"] = v1.LabelValue(fmt.Sprint(w.tier)) }
	w.world.change("batch", next)
	w.disturbed(began, len(faults))
	w.world.change("turns", next)
}

// follows waits until nodes have followed their pool to the present tier.
func (w *absentWorld) follows(pool string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.carries(name, map[string]string{v1.RoleLabel(pool): "", "example.com/tier": fmt.Sprint(w.tier)})
	}
	w.isReady(pool, int32(len(names)))
}

// A node that exists and is answered as if it did not, by something between the loops and the
// API server, follows its pools as soon as that is over, and takes nobody's turn until then.
func TestFaultNodesThatSeemToBeGone(t *testing.T) {
	cluster.Long(t)
	w := newAbsentWorld(t)
	w.isReadyNode("turn-a")
	w.inUse("turn-a")
	write := cluster.Fault{Verbs: []string{"patch"}, OnlyWrites: true, Resources: []string{"nodes"}, Code: 404, Times: 1}
	conflict, read := write, write
	conflict.Code = 409
	read.Verbs, read.OnlyWrites = []string{"get"}, false
	for name, faults := range map[string][]cluster.Fault{
		"by one write":              {write},
		"by a read, after a write":  {conflict, read},
		"by a write of each of all": {write, write, write},
	} {
		t.Run(name, func(t *testing.T) {
			outer := w.t
			w.in(t)
			defer w.in(outer)
			w.changes(faults...)
			w.follows("turns", "turn-a")
			w.follows("batch", "batch-a", "batch-b", "batch-c")
			if logged := w.errorLog.text(); logged != "" {
				t.Errorf("it was over at once, and is logged:\n%s", logged)
			}
		})
	}
	t.Run("by every write", func(t *testing.T) {
		outer := w.t
		w.in(t)
		defer w.in(outer)
		write.Times = 0
		w.changes(write)
		w.poolIs("batch", "reports its nodes", func(pool *v1.NodePool) error {
			for _, condition := range pool.Status.Conditions {
				if condition.Type == v1.ReadyCondition && strings.Contains(condition.Message, "node batch-a could not be written: ") {
					return nil
				}
			}
			return fmt.Errorf("its conditions are %v", pool.Status.Conditions)
		})
		w.eventually("it is logged", func() error {
			if w.errorLog.text(`"name"="batch-a"`) == "" {
				return fmt.Errorf("logged is:\n%s", w.errorLog.text())
			}
			return nil
		})
		w.proxy.Disturb()
		w.follows("batch", "batch-a", "batch-b", "batch-c")
		w.follows("turns", "turn-a")
	})
}

// A node is released that carries keys of a pool which is gone, though the pools cannot be asked
// for at first.
func TestFaultPoolsThatCannotBeAskedFor(t *testing.T) {
	cluster.Long(t)
	w := newAbsentWorld(t)
	w.stop()
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "batch"}}
	update(w.world, pool, func(pool *v1.NodePool) { pool.Finalizers = nil })
	w.do(w.Delete(t.Context(), pool))
	began := time.Now()
	w.proxy.Disturb(cluster.Fault{Verbs: []string{"list"}, Resources: []string{"nodepools"}, Code: 404, Times: 3})
	w.runs()
	w.disturbed(began, 3)
	for _, name := range []string{"batch-a", "batch-b", "batch-c"} {
		w.carries(name, role("batch"))
	}
}

// Of a node that is deleted just before it is written nothing is logged, reported or kept; one
// that comes under its name is another one.
func TestFaultNodesDeletedBeforeTheyAreWritten(t *testing.T) {
	cluster.Long(t)
	w := newAbsentWorld(t)
	gone := func(name string) {
		if err := w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	write := cluster.Fault{Verbs: []string{"patch"}, OnlyWrites: true, Resources: []string{"nodes"}, Times: 1}
	write.Before = func() { gone("batch-a"); gone("batch-b"); gone("batch-c") }
	w.changes(write)
	w.isReady("batch", 0)
	w.follows("turns", "turn-a")

	w.node("batch-a", role("batch"))
	w.follows("batch", "batch-a")
	write.Before = func() {
		gone("batch-a")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "batch-a", Labels: role("batch")}}
		if err := w.Create(t.Context(), node); err != nil {
			t.Error(err)
		}
	}
	w.changes(write)
	w.follows("turns", "turn-a")
	w.follows("batch", "batch-a")
	w.proxy.Disturb()
	gone("batch-a")
	gone("turn-a")
	w.isReady("batch", 0)
	w.isReady("turns", 0)
	w.eventually("nothing is kept of the nodes", func() error {
		sizes := w.kept.sizes()
		for _, of := range []string{"nodes", "by the nodes", "changed nodes", "turns"} {
			if sizes[of] > 0 {
				return fmt.Errorf("kept are %v", sizes)
			}
		}
		return nil
	})
	if logged := w.errorLog.text(); logged != "" {
		t.Errorf("the loops have logged errors:\n%s", logged)
	}
}
