package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// That a node is cordoned, or no longer, is what turns depend on.
func TestCordonIsRelevant(t *testing.T) {
	node := func(cordoned bool) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "1"}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	if !relevantToPlan.Update(event.UpdateEvent{ObjectOld: node(true), ObjectNew: node(false)}) {
		t.Error("a node that is no longer cordoned leads to no pass: nodes that wait for it wait for ever, unless its taints change as well")
	}
}
