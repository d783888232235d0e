package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A kubelet that puts the labels of a pool on its own node is sent no pod of the
// pool's RuntimeClass, nor one of a pool within its own. A pod that looks for these
// labels by itself it is sent, which shows that it could run them all.
func TestANodeCannotDrawThePodsOfAPool(t *testing.T) {
	w := newWorld(t)
	w.node("outsider", nil)
	w.isReadyNode("outsider")
	w.pool(`{metadata: {name: payments}, spec: {
		selector: {matchLabels: {tenant.node-restriction.kubernetes.io/name: payments}},
		labels: {example.com/tenant: payments}, taints: [{key: example.com/tenant, value: payments, effect: NoExecute}]}}`)
	w.pool(`{metadata: {name: cards}, spec: {parent: payments,
		selector: {matchExpressions: [{key: tenant.node-restriction.kubernetes.io/cards, operator: Exists}]},
		labels: {example.com/data: cards}}}`)
	w.isReady("payments", 0)
	w.isReady("cards", 0)

	outsider := w.kubelet("outsider")
	for key, value := range map[string]string{"example.com/tenant": "payments", "example.com/data": "cards"} {
		w.do(setLabel(t, outsider, "outsider", key, value))
	}
	for _, pool := range []string{"payments", "cards"} {
		if err := setLabel(t, outsider, "outsider", v1.RoleLabel(pool), ""); !apierrors.IsForbidden(err) {
			t.Errorf("a kubelet gives its node the role %s: %v", pool, err)
		}
	}
	w.selectingPod("by-selector", map[string]string{"example.com/tenant": "payments", "example.com/data": "cards"})
	w.runsOn("by-selector", "outsider")
	w.pod("payments", v1.RuntimeClassName("payments"))
	w.pod("cards", v1.RuntimeClassName("cards"))
	w.cannotRun("payments")
	w.cannotRun("cards")

	w.node("member", map[string]string{"tenant.node-restriction.kubernetes.io/name": "payments"})
	w.isReadyNode("member")
	w.isReady("payments", 1)
	w.do(setLabel(t, w.kubelet("member"), "member", "example.com/data", "cards"))
	w.runsOn("payments", "member")
	w.pod("cards-again", v1.RuntimeClassName("cards"))
	w.cannotRun("cards-again")
	w.cannotRun("cards")

	w.do(setLabel(t, w.Client, "member", "tenant.node-restriction.kubernetes.io/cards", ""))
	w.runsOn("cards", "member")
}

// selectingPod makes a pod that chooses its node by labels.
func (w *world) selectingPod(name string, nodeSelector map[string]string) {
	w.t.Helper()
	w.do(w.Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
			NodeSelector:                  nodeSelector,
			TerminationGracePeriodSeconds: ptr.To[int64](0),
		},
	}))
}
