package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// excluded is a rollout of an exclusion that is in force until a time.
func excluded(until time.Time) *v1.Rollout {
	return &v1.Rollout{Exclusions: []v1.Exclusion{{
		Start: &metav1.Time{Time: until.AddDate(-1, 0, 0)}, End: &metav1.Time{Time: until}, Reason: "peak season",
	}}}
}

// inUse waits until what is created from now on is younger than the nodes, by the API
// server's times, which have seconds: then nodes do not count as ones that join.
func (w *world) inUse(nodes ...string) {
	w.t.Helper()
	for _, name := range nodes {
		created := w.get(name).CreationTimestamp
		w.eventually("node "+name+" is in use", func() error {
			if now := time.Now().Truncate(time.Second); !created.Time.Before(now) {
				return fmt.Errorf("it was created at %v", created)
			}
			return nil
		})
	}
}

// waits waits until changes of a pool wait on so many nodes.
func (w *world) waits(pool string, nodes int32, until time.Time) {
	w.t.Helper()
	w.poolIs(pool, fmt.Sprintf("waits on %d nodes", nodes), func(pool *v1.NodePool) error {
		status := pool.Status.Rollout
		if status == nil || status.Waiting != nodes || status.NextWindow == nil || !status.NextWindow.Time.Equal(until) {
			return fmt.Errorf("status.rollout is %v, and the conditions are %v", status, pool.Status.Conditions)
		}
		return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, v1.WaitingForWindowReason)
	})
}

// Outside the windows of their pool nodes keep what they have: repaired, over a restart,
// and without a write. Nodes that join get the newest, stronger pools are not held up, pods
// that name the RuntimeClass find a node at any time, and all follow when the exclusion
// ends, though nothing happens then.
func TestNodesWaitForWindows(t *testing.T) {
	w := newWorld(t)
	end := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	w.node("a", role("batch"))
	w.node("b", role("batch"))
	batch := w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}, taints: [{key: example.com/batch, value: "1", effect: NoSchedule}]}
`)
	w.isReady("batch", 2)
	w.inUse("a", "b")
	old := func(node, value string) {
		t.Helper()
		w.carries(node, map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": value}, "example.com/batch="+value+":NoSchedule")
	}
	mark := w.mark()
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Rollout = excluded(end)
		pool.Spec.Labels["example.com/tier"] = "2"
		pool.Spec.Annotations = map[string]v1.AnnotationValue{"example.com/with": "the rest"}
		pool.Spec.Taints[0].Value = "2"
	})
	w.waits("batch", 2, end)
	w.hasEvent("batch", v1.WaitingForWindowReason, "2 nodes wait: an exclusion is in force (peak season) in the rollout of pool \"batch\"; the next opening is "+end.Format(time.RFC3339))
	old("a", "1")
	toleration := func(value string) corev1.Toleration {
		return corev1.Toleration{Key: "example.com/batch", Operator: "Equal", Value: value, Effect: "NoSchedule"}
	}
	stepped := func() {
		t.Helper()
		w.hasRuntimeClass("node-pool-batch", "runc", map[string]string{v1.RoleLabel("batch"): ""}, toleration("2"), toleration("1"))
	}
	stepped()
	w.pod("early", "node-pool-batch")

	update(w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, func(node *corev1.Node) { node.Labels["example.com/tier"] = "9" })
	old("a", "1")
	w.node("c", role("batch"))
	old("c", "2")
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: wall}
spec: {priority: 1, nodeNames: [b], taints: [{key: example.com/wall, effect: NoSchedule}]}
`)
	w.eventually("the wall stands on b", func() error {
		if node := w.get("b"); !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "example.com/wall" }) {
			return fmt.Errorf("its taints are %v", node.Spec.Taints)
		}
		return nil
	})
	if node := w.get("b"); node.Labels["example.com/tier"] != "1" {
		t.Errorf("b has moved with the wall: %v", node.Labels)
	}
	w.do(w.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "wall"}}))
	w.eventually("the wall has gone from b", func() error {
		if node := w.get("b"); slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "example.com/wall" }) {
			return fmt.Errorf("its taints are %v", node.Spec.Taints)
		}
		return nil
	})
	w.waits("batch", 2, end)

	w.stop()
	w.start()
	w.waits("batch", 2, end)
	old("a", "1")
	old("b", "1")
	stepped()
	if writes, _ := w.nodeWrites(mark); writes["a"] != 1 || writes["b"] != 2 || writes["c"] != 1 {
		t.Errorf("the writes of nodes are %v, want a repaired, b walled and released, and c joined", writes)
	}

	soon := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second).Add(time.Second)
	w.change("batch", func(pool *v1.NodePool) { pool.Spec.Rollout = excluded(soon) })
	for _, node := range []string{"a", "b", "c"} {
		old(node, "2")
	}
	w.isReady("batch", 3)
	w.hasRuntimeClass("node-pool-batch", "runc", map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"}, toleration("2"))
	w.poolIs("batch", "waits for nothing", func(pool *v1.NodePool) error {
		if pool.Status.Rollout != nil {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		return nil
	})
	w.pod("late", "node-pool-batch")
	for _, pod := range []string{"early", "late"} {
		w.eventually("pod "+pod+" runs", func() error {
			live, err := w.getPod(pod)
			if err == nil && live.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("it is %s: %v", live.Status.Phase, live.Status.Conditions)
			}
			return err
		})
	}
	var events corev1.EventList
	w.do(w.List(t.Context(), &events, client.InNamespace(metav1.NamespaceDefault)))
	events.Items = slices.DeleteFunc(events.Items, func(event corev1.Event) bool {
		return event.InvolvedObject.UID != batch.UID || event.Reason != v1.WaitingForWindowReason
	})
	if len(events.Items) != 1 {
		t.Errorf("the events of waiting are %v, want one", events.Items)
	}
}
