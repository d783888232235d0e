package nodecache

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

// sharedConditions are those of all cached nodes.
var sharedConditions conditionSets

// conditionSets are the conditions of cached nodes: nearly all nodes have one of a few sets.
// A reduced node has the condition Ready alone, with the others in its message, and what it
// has for pods in its reason, as plans read them. It remembers no more than maxConditionSets:
// then it starts anew, so that what a single node has is not kept for good. It may be used by
// many goroutines at once.
type conditionSets struct {
	mu    sync.Mutex
	known map[conditionSet][]corev1.NodeCondition
}

// conditionSet is whether a node is ready, its other conditions, and what it has for pods.
type conditionSet struct {
	ready       bool
	others      plan.Conditions
	allocatable plan.Allocatable
}

const maxConditionSets = 1024

// of returns the conditions that a reduced node has, of one that may be whole.
func (s *conditionSets) of(node *corev1.Node) []corev1.NodeCondition {
	set := conditionSet{ready(node), plan.ConditionsOf(node.Status.Conditions), plan.AllocatableOf(node.Status.Allocatable)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, found := s.known[set]; found {
		return known
	}
	if s.known == nil || len(s.known) >= maxConditionSets {
		s.known = map[conditionSet][]corev1.NodeCondition{}
	}
	conditions := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: string(set.others), Reason: string(set.allocatable)}}
	if set.ready {
		conditions[0].Status = corev1.ConditionTrue
	}
	s.known[set] = conditions
	return conditions
}

// nodeStateOf is what plans read of a node of a cache.
func nodeStateOf(node *corev1.Node) *plan.NodeState {
	state := plan.StateOf(node)
	if isSlim(node) {
		state.Conditions = plan.Conditions(node.Status.Conditions[0].Message)
		state.Allocatable = plan.Allocatable(node.Status.Conditions[0].Reason)
	}
	return state
}

// ready reports whether a node is ready; the node may be reduced or whole.
func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
