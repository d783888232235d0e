package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/pools"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.t = t
	return &inner
}

// get reads a node.
func (w *world) get(name string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{}
	w.do(w.Get(w.t.Context(), client.ObjectKey{Name: name}, node))
	return node
}

// change changes a pool.
func (w *world) change(name string, change func(*v1.NodePool)) {
	w.t.Helper()
	update(w, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}, change)
}

// changeNode changes a node as a client does that sends the whole of it back.
func (w *world) changeNode(name string, change func(*corev1.Node)) {
	w.t.Helper()
	update(w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, change)
}

// remove deletes a pool and waits until it is gone.
func (w *world) remove(name string) {
	w.t.Helper()
	w.do(w.Delete(w.t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	w.gone(&v1.NodePool{}, name)
}

// gone waits until an object is not there any more.
func (w *world) gone(object client.Object, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%T %s is gone", object, name), func() error {
		err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, object)
		if err == nil {
			return fmt.Errorf("it is there: %+v", object)
		}
		return client.IgnoreNotFound(err)
	})
}

// kubectl runs kubectl as a user would.
func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*waitTimeout) // it waits for what it deletes
	defer cancel()
	out, err := w.cluster.Kubectl(ctx, args...)
	w.do(err)
	return out
}

// isReady waits until a pool is carried out on this many nodes.
func (w *world) isReady(pool string, nodes int32) {
	w.t.Helper()
	w.poolIs(pool, fmt.Sprintf("is ready on %d nodes", nodes), func(pool *v1.NodePool) error {
		counts := pool.Status.Nodes
		if counts == nil || counts.Desired != nodes || counts.Updated != nodes || counts.Conflicted != 0 {
			return fmt.Errorf("counts are %+v", counts)
		}
		for _, kind := range []string{v1.ReconcilingCondition, v1.StalledCondition, v1.ConflictedCondition} {
			if err := conditionIs(pool.Status.Conditions, kind, metav1.ConditionFalse, v1.SucceededReason); err != nil {
				return err
			}
		}
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason)
	})
}

// isStalled waits until a pool says that somebody has to act.
func (w *world) isStalled(pool, reason string, texts ...string) {
	w.t.Helper()
	w.poolIs(pool, "is stalled: "+reason, func(pool *v1.NodePool) error {
		if err := conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, reason); err != nil {
			return err
		}
		return conditionIs(pool.Status.Conditions, v1.StalledCondition, metav1.ConditionTrue, reason, texts...)
	})
}

// hasEvent waits for an event on a pool.
func (w *world) hasEvent(pool, reason string, texts ...string) {
	w.t.Helper()
	w.eventually("pool "+pool+" has an event "+reason, func() error {
		var events corev1.EventList
		if err := w.List(w.t.Context(), &events, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return err
		}
		var others []string
		for _, event := range events.Items {
			if event.InvolvedObject.Kind != v1.NodePoolKind || event.InvolvedObject.Name != pool {
				continue
			}
			missing := slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(event.Message, text) })
			if event.Reason == reason && !missing {
				return nil
			}
			others = append(others, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("it has %q", others)
	})
}

// isReadyNode waits until Kubernetes has brought a new node to rest.
func (w *world) isReadyNode(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.eventually("node "+name+" is ready and idle", func() error {
			node, err := nodecache.Live(w).Node(w.t.Context(), name)
			if err != nil {
				return err
			}
			condition := slices.ContainsFunc(node.Taints, func(taint corev1.Taint) bool {
				return strings.HasPrefix(taint.Key, "node.kubernetes.io/")
			})
			if condition || !node.Ready || node.Annotations["node.alpha.kubernetes.io/ttl"] == "" {
				return fmt.Errorf("taints %v, annotations %v, ready %t", node.Taints, node.Annotations, node.Ready)
			}
			return nil
		})
	}
}

// sentinel is a pool that is changed to find out how far the loops are.
const sentinel = "sentinel"

// settle waits until the loops have looked at every node once more, after all
// that happened before.
func (w *world) settle() {
	w.t.Helper()
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: sentinel}}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pool), pool); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	} else if err != nil {
		w.do(w.Create(w.t.Context(), pool))
	} else {
		w.change(sentinel, func(pool *v1.NodePool) { pool.Spec.Priority++ })
	}
	w.poolIs(sentinel, "is settled", func(*v1.NodePool) error { return nil })
}

// mark is where the audit log ends now.
func (w *world) mark() int64 {
	w.t.Helper()
	mark, err := w.cluster.AuditMark()
	w.do(err)
	return mark
}

// writesSince are the writes of the loops since a mark, those about the sentinel
// left out.
func (w *world) writesSince(mark int64) []cluster.Request {
	w.t.Helper()
	requests, err := w.cluster.Audit(mark)
	w.do(err)
	return slices.DeleteFunc(cluster.WritesBy(w.user, requests), func(r cluster.Request) bool {
		name := r.Object.Name
		return name == sentinel || name == v1.RuntimeClassName(sentinel) || strings.HasPrefix(name, sentinel+".")
	})
}

// heartbeats writes the status of every node as kubelets do, for a while, and
// returns how often.
func (w *world) heartbeats(lasting, every time.Duration) (beats int) {
	w.t.Helper()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for until := time.Now().Add(lasting); time.Now().Before(until); <-ticker.C {
		var nodes corev1.NodeList
		w.do(w.List(w.t.Context(), &nodes))
		for i := range nodes.Items {
			node := &nodes.Items[i]
			beat := node.DeepCopy()
			for j := range beat.Status.Conditions {
				beat.Status.Conditions[j].LastHeartbeatTime = metav1.Now()
			}
			beats++
			beat.Status.Images = []corev1.ContainerImage{{Names: []string{fmt.Sprintf("image-%d", beats)}}}
			w.do(w.Status().Patch(w.t.Context(), beat, client.MergeFrom(node)))
		}
	}
	return beats
}

// becomesIdle waits until the loops have written nothing for longer than they
// gather news for a status.
func (w *world) becomesIdle() {
	w.t.Helper()
	w.eventually("the loops come to rest", func() error {
		w.settle()
		mark := w.mark()
		time.Sleep(pools.StatusPeriod + pools.StatusPeriod/4)
		if writes := w.writesSince(mark); len(writes) > 0 {
			return fmt.Errorf("they still write: %v", writes)
		}
		return nil
	})
}

// staysQuiet fails the test when the loops write anything while nodes send
// heartbeats.
func (w *world) staysQuiet() {
	w.t.Helper()
	w.becomesIdle()
	mark := w.mark()
	w.heartbeats(3*time.Second, 100*time.Millisecond)
	w.settle()
	for _, write := range w.writesSince(mark) {
		w.t.Errorf("write without a reason: %s", write)
	}
}

func wantLabel(node *corev1.Node, key, value string) error {
	if node.Labels[key] != value {
		return fmt.Errorf("labels are %v", node.Labels)
	}
	return nil
}
