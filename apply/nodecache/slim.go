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
	if node, isNode := object.(*corev1.Node); isNode && !isSlim(node) {
		slim(node)
	}
	return object, nil
}

func slim(node *corev1.Node) {
	node.ManagedFields = sharedOwners.share(condenser.Condense(node.ManagedFields))
	node.Labels, node.Annotations = sharedTexts.all(node.Labels), sharedTexts.all(node.Annotations)
	node.Spec = corev1.NodeSpec{Taints: node.Spec.Taints}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		taint.Key, taint.Value = sharedTexts.one(taint.Key), sharedTexts.one(taint.Value)
		taint.Effect = corev1.TaintEffect(sharedTexts.one(string(taint.Effect)))
	}
	conditions := unreadyConditions
	if Ready(node) {
		conditions = readyConditions
	}
	node.Status = corev1.NodeStatus{Conditions: conditions}
}

// isSlim reports whether a node is one that was made small, by its conditions, which
// no other has.
func isSlim(node *corev1.Node) bool {
	conditions := node.Status.Conditions
	return len(conditions) == 1 && (&conditions[0] == &readyConditions[0] || &conditions[0] == &unreadyConditions[0])
}

var (
	// condenser is for all cached nodes.
	condenser plan.Condenser
	// readyConditions are those of every cached node that is ready, unreadyConditions
	// those of every other.
	readyConditions   = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	unreadyConditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
)

// Ready reports whether a node is ready, by its cached state or by a whole one.
func Ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
