package controller

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// fleet makes nodes of the pool tenant and waits until they are idle.
func (w *world) fleet(count int) {
	w.t.Helper()
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("fleet-%02d", i)
		w.node(names[i], role("tenant"), "theirs=:NoSchedule")
	}
	w.isReadyNode(names...)
}

// nodeWrites sorts the loops' writes of nodes since a mark by node, those that
// went through and those that were refused because somebody else was faster.
func (w *world) nodeWrites(mark int64) (done map[string]int, refused int) {
	w.t.Helper()
	done = map[string]int{}
	for _, write := range w.writesSince(mark) {
		switch {
		case write.Object.Resource != "nodes", write.Object.Subresource == "status": // kubelets write that
		case write.Code == 200, write.Code == 0: // one that is being served may go through
			done[write.Object.Name]++
		case write.Code == 409:
			refused++
		default:
			w.t.Errorf("unexpected answer: %s", write)
		}
	}
	return done, refused
}

// While nodes send heartbeats, the loops write nothing at all: by the audit log, and by the
// API server's own counters.
func TestSteadyStateCostsNoWrite(t *testing.T) {
	cluster.Long(t)
	w := newWorld(t)
	w.fleet(20)
	w.approvedPool(tenantPool)
	w.pool(bluePool)
	w.pool(redPool) // which is in conflict, as it is not the older one
	w.node("both", role("red", "blue"))
	w.isReadyNode("both")
	w.isReady("tenant", 20)
	w.poolIs("red", "reports its conflict", isConflicted(1))
	w.becomesIdle()

	mark := w.mark()
	before, err := w.cluster.RequestCounts(t.Context())
	w.do(err)
	watched := 20 * time.Second
	if cluster.Stress() {
		watched = 5 * time.Minute
	}
	beats := w.heartbeats(watched, time.Second)
	after, err := w.cluster.RequestCounts(t.Context())
	w.do(err)
	for _, write := range w.writesSince(mark) {
		t.Errorf("write without a reason: %s", write)
	}
	requests, err := w.cluster.Audit(mark)
	w.do(err)
	var reads []cluster.Request
	for _, request := range requests {
		if request.User == w.user && request.Verb != "watch" {
			reads = append(reads, request)
		}
	}
	if len(reads) > 0 {
		t.Errorf("requests without a reason: %v", reads)
	}
	counted := 0
	for kind, count := range after.Since(before).Writes() {
		switch {
		case kind.Group == v1.GroupVersion.Group, kind.Resource == "runtimeclasses":
			t.Errorf("the API server has counted %d of %+v", count, kind)
		case kind.Resource == "nodes" && kind.Subresource == "":
			t.Errorf("the API server has counted %d of %+v", count, kind)
		case kind.Resource == "nodes":
			counted += count
		}
	}
	t.Logf("%d heartbeats, of which the API server has counted %d", beats, counted)
	if counted < beats {
		t.Errorf("the API server has counted %d writes of node statuses, want %d at least", counted, beats)
	}
}

// Every change costs each node that it concerns one write, and the others none.
func TestOneWritePerNodeAndChange(t *testing.T) {
	const size = 15
	w := newWorld(t)
	w.fleet(size)
	w.node("stranger", nil)
	w.isReadyNode("stranger")
	w.becomesIdle()
	change := func(what string, nodes int, change func()) {
		t.Helper()
		mark := w.mark()
		change()
		w.isReady("tenant", size)
		w.becomesIdle()
		done, refused := w.nodeWrites(mark)
		t.Logf("%s: %d nodes written, %d writes refused and repeated", what, len(done), refused)
		if len(done) != nodes {
			t.Errorf("%s: %d nodes were written, want %d: %v", what, len(done), nodes, done)
		}
		for node, writes := range done {
			if writes != 1 {
				t.Errorf("%s: node %s was written %d times", what, node, writes)
			}
		}
		if statuses := w.statusWrites(mark, "tenant"); statuses > 3 {
			t.Errorf("%s: %d writes of the pool's status", what, statuses)
		}
	}
	change("the pool comes", size, func() { w.approvedPool(tenantPool) })
	change("one node loses a label", 1, func() { w.kubectl("label", "node", "fleet-03", "tenant-") })
	change("one node loses label, annotation and taints at once", 1, func() {
		w.changeNode("fleet-04", func(node *corev1.Node) {
			delete(node.Labels, "tenant")
			delete(node.Annotations, "tenant")
			node.Spec.Taints = nil
		})
	})
	change("the pool changes label, annotation and taints", size, func() {
		w.change("tenant", func(pool *v1.NodePool) {
			pool.Spec.Labels = map[string]v1.LabelValue{"tenant": "b", "more": "keys"}
			pool.Spec.Annotations = nil
			pool.Spec.Taints = pool.Spec.Taints[:1]
		})
	})
	change("the pool changes what nodes do not see", 0, func() {
		w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Handler = "gvisor" })
	})
	change("another pool comes that has no nodes", 0, func() { w.pool("{metadata: {name: empty}, spec: {labels: {a: b}}}") })
	change("a pass is asked for", 0, func() {
		w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "tenant", v1.RequestedAtAnnotation+"=now")
	})
	w.poolIs("tenant", "answers the request", func(pool *v1.NodePool) error {
		if pool.Status.LastHandledReconcileAt != "now" {
			return fmt.Errorf("lastHandledReconcileAt is %q", pool.Status.LastHandledReconcileAt)
		}
		return nil
	})
	mark := w.mark()
	w.remove("tenant")
	w.becomesIdle()
	done, _ := w.nodeWrites(mark)
	if len(done) != size {
		t.Errorf("the pool goes: %d nodes were written, want %d: %v", len(done), size, done)
	}
}

func (w *world) statusWrites(mark int64, pool string) int {
	w.t.Helper()
	count := 0
	for _, write := range w.writesSince(mark) {
		if write.Object.Resource == "nodepools" && write.Object.Subresource == "status" && write.Object.Name == pool {
			count++
		}
	}
	return count
}

// When the loops start, they find everything as it is and write nothing: above
// all, no status that forgets for a moment what is not known yet.
func TestStartCostsNoWrite(t *testing.T) {
	w := newWorld(t)
	w.fleet(20)
	w.approvedPool(tenantPool)
	w.pool(bluePool)
	w.pool(redPool) // which is in conflict, as it is not the older one
	w.node("both", role("red", "blue"))
	w.isReadyNode("both")
	w.isReady("tenant", 20)
	w.poolIs("red", "reports its conflict", isConflicted(1))
	w.becomesIdle()
	for range 3 {
		mark := w.mark()
		w.stop()
		w.start()
		w.becomesIdle()
		for _, write := range w.writesSince(mark) {
			t.Errorf("write after a start: %s", write)
		}
	}
}
