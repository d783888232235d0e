package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeState is what plans, and the impact of one, read of a node. A cache or an
// inventory that keeps no more than this cannot be asked for what it has dropped.
// States share their maps and slices: nobody may change those of a state that is not
// the own one, which [NodeState.DeepCopy] makes.
type NodeState struct {
	Name string
	UID  types.UID
	// Created is when the node was made; zero where that is not known.
	Created             metav1.Time
	ResourceVersion     string
	Labels, Annotations map[string]string
	// ManagedFields are at least the owners of labels, annotations and taints; see
	// [Condense].
	ManagedFields []metav1.ManagedFieldsEntry
	Taints        []corev1.Taint
	Unschedulable bool
	// Conditions are those of the node but for Ready.
	Conditions Conditions
}

// StateOf returns the state of a node, which shares its maps and slices.
func StateOf(node *corev1.Node) *NodeState {
	return &NodeState{
		Name: node.Name, UID: node.UID, Created: node.CreationTimestamp, ResourceVersion: node.ResourceVersion,
		Labels: node.Labels, Annotations: node.Annotations, ManagedFields: node.ManagedFields,
		Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable,
		Conditions: ConditionsOf(node.Status.Conditions),
	}
}

// Object returns a Node of this state, for the functions of Kubernetes that take one.
// It shares the maps and slices of the state.
func (n *NodeState) Object() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, UID: n.UID, CreationTimestamp: n.Created, ResourceVersion: n.ResourceVersion,
			Labels: n.Labels, Annotations: n.Annotations, ManagedFields: n.ManagedFields,
		},
		Spec: corev1.NodeSpec{Taints: n.Taints, Unschedulable: n.Unschedulable},
	}
}

// GetName returns the name, as of an object of Kubernetes.
func (n *NodeState) GetName() string { return n.Name }

// GetAnnotations returns the annotations, as of an object of Kubernetes.
func (n *NodeState) GetAnnotations() map[string]string { return n.Annotations }

// GetManagedFields returns the managed fields, as of an object of Kubernetes.
func (n *NodeState) GetManagedFields() []metav1.ManagedFieldsEntry { return n.ManagedFields }

// DeepCopy returns a copy that shares nothing.
func (n *NodeState) DeepCopy() *NodeState {
	copied := *n
	copied.Labels, copied.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
	copied.ManagedFields, copied.Taints = slices.Clone(n.ManagedFields), slices.Clone(n.Taints)
	for i := range copied.ManagedFields {
		copied.ManagedFields[i] = *n.ManagedFields[i].DeepCopy()
	}
	for i := range copied.Taints {
		copied.Taints[i] = *n.Taints[i].DeepCopy()
	}
	return &copied
}
