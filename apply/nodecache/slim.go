package nodecache

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

// Slim drops from a node what no plan reads, as a cache does before it keeps one:
// whoever reads a node past the cache does it by himself. It changes the node that
// it is given, and leaves all that is no node as it is; it never fails.
//
// A plan does read who owns labels, annotations and taints, so that much of the
// managed fields stays. That and most of the labels, annotations and taints is the
// same on many nodes, which share it: nobody may change what is cached. The node is
// never written back: plans write patches.
func Slim(object any) (any, error) {
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
	ready := Ready(node)
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

// Ready tells whether a node is ready, by its cached state or by a whole one.
func Ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
