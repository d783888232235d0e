package nodecache

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

// Node is a node as the cache has it. Nodes share what is equal on them, so nobody may
// change one. It is never written back: plans write patches.
type Node struct {
	readOnly
	plan.NodeState
	// Ready reports whether the node has the condition Ready.
	Ready bool
}

// transform makes a [Node] of a node before the cache keeps it, and does not change any
// other object; it never fails.
func transform(object any) (any, error) {
	if node, isNode := object.(*corev1.Node); isNode {
		return reduce(node), nil
	}
	return object, nil
}

// reduce returns what plans read of a node, which nobody may use any more.
//
// Plans read who owns labels, annotations and taints, so that part of the managed fields is
// kept. This and most labels, annotations and taints are the same on many nodes, which share
// them. The name of a node is nearly always one of its labels, too.
func reduce(node *corev1.Node) *Node {
	kept := &Node{NodeState: *plan.StateOf(node), Ready: isReady(node)}
	kept.Name = sharedTexts.one(kept.Name)
	kept.Labels, kept.Annotations = sharedTexts.all(kept.Labels), sharedTexts.all(kept.Annotations)
	kept.ManagedFields = sharedOwners.share(condenser.Condense(kept.ManagedFields))
	for i := range kept.Taints {
		taint := &kept.Taints[i]
		taint.Key, taint.Value = sharedTexts.one(taint.Key), sharedTexts.one(taint.Value)
		taint.Effect = corev1.TaintEffect(sharedTexts.one(string(taint.Effect)))
	}
	kept.Conditions = plan.Conditions(sharedTexts.one(string(kept.Conditions)))
	return kept
}

// condenser is for all cached nodes.
var condenser plan.Condenser

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
