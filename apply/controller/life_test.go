package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const masterPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: master
spec:
  taints:
  - key: node-pool.lailin.xyz
    value: master
    effect: NoSchedule
  labels:
    "node-pool.lailin.xyz/master": "8"
    "node-pool.lailin.xyz/test": "2"
  handler: runc
`

// The manifest of the README, unchanged, through its whole life, beside a label
// and a taint of somebody else before, and others added on the way.
func TestLifeOfAPool(t *testing.T) {
	w := newWorld(t)
	w.node("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a"}, "theirs=x:NoSchedule")
	w.node("m2", role("master"))
	w.node("other", map[string]string{"team": "b"})

	w.pool(masterPool)
	for node, labels := range map[string]map[string]string{"m1": {"team": "a"}, "m2": {}} {
		labels[v1.RoleLabel("master")] = ""
		labels["node-pool.lailin.xyz/master"] = "8"
		labels["node-pool.lailin.xyz/test"] = "2"
		taints := []string{"node-pool.lailin.xyz=master:NoSchedule"}
		if node == "m1" {
			taints = append(taints, "theirs=x:NoSchedule")
		}
		w.carries(node, labels, taints...)
	}
	w.carries("other", map[string]string{"team": "b"})
	w.hasRuntimeClass("node-pool-master", "runc", map[string]string{
		"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2", v1.RoleLabel("master"): "",
	}, corev1.Toleration{Key: "node-pool.lailin.xyz", Operator: "Equal", Value: "master", Effect: "NoSchedule"})
	w.poolIs("master", "is ready on both nodes", func(pool *v1.NodePool) error {
		if diff := cmp.Diff(&v1.NodeCounts{Desired: 2, Updated: 2, Ready: 2}, pool.Status.Nodes); diff != "" {
			return fmt.Errorf("counts (-want +got): %s", diff)
		}
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason)
	})

	update(w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, func(node *corev1.Node) {
		node.Labels["added"] = "since"
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "added", Effect: corev1.TaintEffectPreferNoSchedule})
	})
	update(w, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "master"}}, func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{"node-pool.lailin.xyz/master": "10"}
	})
	w.carries("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a", "node-pool.lailin.xyz/master": "10"},
		"node-pool.lailin.xyz=master:NoSchedule", "theirs=x:NoSchedule")
	w.carries("m2", map[string]string{v1.RoleLabel("master"): "", "added": "since", "node-pool.lailin.xyz/master": "10"},
		"node-pool.lailin.xyz=master:NoSchedule", "added=:PreferNoSchedule")
	w.hasRuntimeClass("node-pool-master", "runc", map[string]string{"node-pool.lailin.xyz/master": "10", v1.RoleLabel("master"): ""},
		corev1.Toleration{Key: "node-pool.lailin.xyz", Operator: "Equal", Value: "master", Effect: "NoSchedule"})

	w.do(w.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "master"}}))
	w.carries("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a"}, "theirs=x:NoSchedule")
	w.carries("m2", map[string]string{v1.RoleLabel("master"): "", "added": "since"}, "added=:PreferNoSchedule")
	w.eventually("pool and RuntimeClass are gone", func() error {
		for _, object := range []client.Object{&v1.NodePool{}, &nodev1.RuntimeClass{}} {
			name := "master"
			if _, isClass := object.(*nodev1.RuntimeClass); isClass {
				name = "node-pool-master"
			}
			if err := w.Get(t.Context(), client.ObjectKey{Name: name}, object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s: %v", object, name, err)
			}
		}
		return nil
	})
	for _, name := range []string{"m1", "m2"} {
		var node corev1.Node
		w.do(w.Get(t.Context(), client.ObjectKey{Name: name}, &node))
		if record, found := node.Annotations[v1.AppliedAnnotation]; found {
			t.Errorf("node %s still has a record: %s", name, record)
		}
	}
}

// hasRuntimeClass waits until a RuntimeClass is exactly this one.
func (w *world) hasRuntimeClass(name, handler string, nodeSelector map[string]string, tolerations ...corev1.Toleration) {
	w.t.Helper()
	type class struct {
		Handler      string
		NodeSelector map[string]string
		Tolerations  []corev1.Toleration
	}
	w.eventually("RuntimeClass "+name, func() error {
		var live nodev1.RuntimeClass
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, &live); err != nil {
			return err
		}
		have := class{Handler: live.Handler}
		if live.Scheduling != nil {
			have.NodeSelector, have.Tolerations = live.Scheduling.NodeSelector, live.Scheduling.Tolerations
		}
		if diff := cmp.Diff(class{handler, nodeSelector, tolerations}, have); diff != "" {
			return fmt.Errorf("(-want +got): %s", diff)
		}
		return nil
	})
}
