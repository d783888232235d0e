package controller

import (
	"bytes"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// slim drops from a node, before it is cached, what no plan reads. A plan does
// read who owns labels, annotations and taints, so that much of the managed
// fields stays. That and most of the labels, annotations and taints is the same on
// many nodes, which share it: nobody may change what is cached. The node is never
// written back: plans write patches.
func slim(object any) (any, error) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return object, nil
	}
	node.ManagedFields = sharedOwners.share(condenser.Condense(node.ManagedFields))
	node.Labels, node.Annotations = sharedTexts.all(node.Labels), sharedTexts.all(node.Annotations)
	node.Spec = corev1.NodeSpec{Taints: node.Spec.Taints}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		taint.Key, taint.Value = sharedTexts.one(taint.Key), sharedTexts.one(taint.Value)
		taint.Effect = corev1.TaintEffect(sharedTexts.one(string(taint.Effect)))
	}
	ready := nodeReady(node)
	node.Status = corev1.NodeStatus{}
	if ready {
		node.Status.Conditions = readyConditions
	}
	return node, nil
}

var (
	// condenser is for all cached nodes.
	condenser plan.Condenser
	// readyConditions are those of every cached node that is ready.
	readyConditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
)

// sameSetters tells whether the same others own the same labels, annotations and
// taints of two cached states of a node. What we own follows from what we write,
// and is no news.
func sameSetters(before, after *corev1.Node) bool {
	others := func(node *corev1.Node) []metav1.ManagedFieldsEntry {
		return slices.DeleteFunc(slices.Clone(node.ManagedFields), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == v1.FieldManager
		})
	}
	return slices.EqualFunc(others(before), others(after), func(a, b metav1.ManagedFieldsEntry) bool {
		return a.Manager == b.Manager && a.Operation == b.Operation && bytes.Equal(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes())
	})
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
