package nodecache

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

// transform drops all fields of a node that no plan reads, before the cache keeps it.
// It changes the given node, and does not change any other object; it never fails.
//
// Plans read who owns labels, annotations and taints, so that part of the
// managed fields is kept. This and most labels, annotations and taints are the
// same on many nodes, which share them: nobody may change a cached node. It is
// never written back: plans write patches.
func transform(object any) (any, error) {
	if node, isNode := object.(*corev1.Node); isNode && !isSlim(node) {
		slim(node)
	}
	return object, nil
}

func slim(node *corev1.Node) {
	node.ManagedFields = sharedOwners.share(condenser.Condense(node.ManagedFields))
	node.Labels, node.Annotations = sharedTexts.all(node.Labels), sharedTexts.all(node.Annotations)
	node.Spec = corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		taint.Key, taint.Value = sharedTexts.one(taint.Key), sharedTexts.one(taint.Value)
		taint.Effect = corev1.TaintEffect(sharedTexts.one(string(taint.Effect)))
	}
	node.Status = corev1.NodeStatus{Conditions: sharedConditions.of(node), Config: slimmed}
}

// isSlim reports whether a node was reduced.
func isSlim(node *corev1.Node) bool { return node.Status.Config == slimmed }

var (
	// condenser is for all cached nodes.
	condenser plan.Condenser
	// slimmed is the configuration of every node that was reduced, and of no other: nothing
	// that is decoded is this very object.
	slimmed = &corev1.NodeConfigStatus{}
)
