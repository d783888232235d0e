package nodecache

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Node is an object for the libraries that keep it and send its events: they read its
// name, its version and its annotations.
var _ client.Object = &Node{}

// GetUID implements [metav1.Object].
func (n *Node) GetUID() types.UID { return n.UID }

// GetResourceVersion implements [metav1.Object].
func (n *Node) GetResourceVersion() string { return n.ResourceVersion }

// GetCreationTimestamp implements [metav1.Object].
func (n *Node) GetCreationTimestamp() metav1.Time { return n.Created }

// GetLabels implements [metav1.Object].
func (n *Node) GetLabels() map[string]string { return n.Labels }

// GetManagedFields implements [metav1.Object].
func (n *Node) GetManagedFields() []metav1.ManagedFieldsEntry { return n.ManagedFields }

// DeepCopyObject implements [runtime.Object].
func (n *Node) DeepCopyObject() runtime.Object {
	return &Node{NodeState: *n.NodeState.DeepCopy(), Ready: n.Ready}
}

// readOnly is the rest of what an object can do. What no plan reads is empty, and nothing
// can be set: of what a cache has, nobody may change anything.
type readOnly struct{}

func (readOnly) GetObjectKind() schema.ObjectKind             { return schema.EmptyObjectKind }
func (readOnly) GetNamespace() string                         { return "" }
func (readOnly) GetGenerateName() string                      { return "" }
func (readOnly) GetGeneration() int64                         { return 0 }
func (readOnly) GetSelfLink() string                          { return "" }
func (readOnly) GetDeletionTimestamp() *metav1.Time           { return nil }
func (readOnly) GetDeletionGracePeriodSeconds() *int64        { return nil }
func (readOnly) GetFinalizers() []string                      { return nil }
func (readOnly) GetOwnerReferences() []metav1.OwnerReference  { return nil }
func (readOnly) SetNamespace(string)                          {}
func (readOnly) SetName(string)                               {}
func (readOnly) SetGenerateName(string)                       {}
func (readOnly) SetUID(types.UID)                             {}
func (readOnly) SetResourceVersion(string)                    {}
func (readOnly) SetGeneration(int64)                          {}
func (readOnly) SetSelfLink(string)                           {}
func (readOnly) SetCreationTimestamp(metav1.Time)             {}
func (readOnly) SetDeletionTimestamp(*metav1.Time)            {}
func (readOnly) SetDeletionGracePeriodSeconds(*int64)         {}
func (readOnly) SetLabels(map[string]string)                  {}
func (readOnly) SetAnnotations(map[string]string)             {}
func (readOnly) SetFinalizers([]string)                       {}
func (readOnly) SetOwnerReferences([]metav1.OwnerReference)   {}
func (readOnly) SetManagedFields([]metav1.ManagedFieldsEntry) {}
