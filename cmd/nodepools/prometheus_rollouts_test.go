package main

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

var errNotYet = errors.New("not yet")

// rolloutOf makes a pool with two nodes that have followed it, with the label that has the name
// of the pool: what changes from now on takes turns.
func (w *watched) rolloutOf(name string, rollout *v1.Rollout) *v1.NodePool {
	w.t.Helper()
	one := intstr.FromInt32(1)
	rollout.MaxUnavailable = &one
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{name: "1"}, Rollout: rollout}}
	for _, node := range []string{name + "-1", name + "-2"} {
		w.node(node, name)
		w.ready(node, corev1.ConditionTrue)
	}
	w.do(w.Create(w.t.Context(), pool))
	w.labelled(name+"-1", name, "1")
	w.labelled(name+"-2", name, "1")
	came := time.Now()
	w.until("the nodes are older than the next change", func() error { // by seconds
		if time.Since(came) < 2*time.Second {
			return errNotYet
		}
		return nil
	})
	return pool
}

// rolloutHalts has a change of a pool break the first of its two nodes. The change is taken
// back to mend that.
func (w *watched) rolloutHalts() func() {
	pool := w.rolloutOf("broken", &v1.Rollout{})
	w.patch(pool, `{"spec":{"rollout":{"minReady":"1h"},"labels":{"broken":"2"}}}`)
	w.labelled("broken-1", "broken", "2")
	w.ready("broken-1", corev1.ConditionFalse)
	return func() {
		w.patch(pool, `{"spec":{"labels":{"broken":"1"}}}`)
		w.labelled("broken-1", "broken", "1")
	}
}

// rolloutIsLate has the first of two nodes of a pool not ready, so that a change of the pool
// waits for its first wave. When it is ready both follow, and the pod of the second is evicted.
func (w *watched) rolloutIsLate() (mend func()) {
	w.t.Helper()
	one := intstr.FromInt32(1)
	past := func(year int) *metav1.Time { return &metav1.Time{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)} }
	pool := w.rolloutOf("late", &v1.Rollout{
		Waves: []v1.Wave{{Name: "first", Nodes: &one}}, Drain: &v1.Drain{},
		ProgressDeadline: &metav1.Duration{Duration: time.Minute},
		Exclusions:       []v1.Exclusion{{Start: past(2020), End: past(2021)}},
	})
	w.do(w.Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "evicted"},
		Spec: corev1.PodSpec{
			NodeName: "late-2", ServiceAccountName: "reader", AutomountServiceAccountToken: new(false),
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{{Name: "c", Image: "example.com/none"}},
		},
	}))
	w.ready("late-1", corev1.ConditionFalse)
	w.until("the controller knows that the node is not ready", func() error {
		return w.server.has(`nodepools_pool_nodes{pool="late",state="ready"} == 1`)
	})
	w.patch(pool, `{"spec":{"labels":{"late":"2"},"taints":[{"key":"example.com/late","effect":"NoExecute"}]}}`)
	return func() {
		w.ready("late-1", corev1.ConditionTrue)
		w.labelled("late-2", "late", "2")
	}
}

// drainObstructed has a taint of somebody else on both nodes of a pool keep them from being
// drained for one that the pool brings.
func (w *watched) drainObstructed() func() {
	pool := w.rolloutOf("walled", &v1.Rollout{Drain: &v1.Drain{}})
	w.kubectl("taint", "node", "walled-1", "walled-2", "example.com/walled=theirs:NoSchedule")
	w.patch(pool, `{"spec":{"labels":{"walled":"2"},"taints":[{"key":"example.com/walled","value":"ours","effect":"NoExecute"}]}}`)
	return func() { w.kubectl("taint", "node", "walled-1", "walled-2", "example.com/walled:NoSchedule-") }
}

// ready has a node say whether it is ready.
func (w *watched) ready(node string, status corev1.ConditionStatus) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, status)
	w.do(w.Status().Patch(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
}

func (w *watched) label(node, key, value string) {
	w.t.Helper()
	w.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
}

// annotate sets an annotation to a value in JSON; null removes it.
func (w *watched) annotate(node, key, value string) {
	w.t.Helper()
	w.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value))
}
