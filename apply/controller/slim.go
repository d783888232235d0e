package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// slim drops from a node, before it is cached, what no plan reads. A plan does
// read who owns labels, annotations and taints, so the managed fields of the
// object itself stay; those of the status go. It is never written back: plans
// write patches.
func slim(object any) (any, error) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return object, nil
	}
	kept := make([]metav1.ManagedFieldsEntry, 0, len(node.ManagedFields))
	for _, entry := range node.ManagedFields {
		if entry.Subresource == "" && (entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == v1.FieldManager) {
			kept = append(kept, entry)
		}
	}
	node.ManagedFields = kept
	ready := nodeReady(node)
	node.Status = corev1.NodeStatus{}
	if ready {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	return node, nil
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
