package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Applier executes plans, under the field manager nodepools. It may be used by
// many goroutines at once.
type Applier struct {
	client client.Client
	nodes  NodePatcher
	// admission reads what may refuse a pool; nil where every pool gets a dry run.
	admission client.Reader
}

// New returns an Applier that writes through a client.
func New(c client.Client) *Applier {
	c = client.WithFieldOwner(c, v1.FieldManager)
	return &Applier{client: c, nodes: nodesBy{c}}
}

// PatchingNodes returns a copy of the Applier that writes nodes through another patcher.
func (a *Applier) PatchingNodes(by NodePatcher) *Applier {
	patching := *a
	patching.nodes = by
	return &patching
}

// apply sends an object as a forced server-side apply and returns what the API
// server makes of it. The object must be wholly ours.
func (a *Applier) apply(ctx context.Context, object client.Object, options ...client.ApplyOption) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	// A typed object cannot omit these, and an apply must not claim them.
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	delete(content, "status")
	configuration := &unstructured.Unstructured{Object: content}
	options = append(options, client.ForceOwnership)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(configuration), options...); err != nil {
		return nil, err
	}
	return configuration, nil
}

// IsConflict reports whether a write was refused because its object is no
// longer the one that the plan was made from. The caller reads and plans again.
func IsConflict(err error) bool {
	return (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && !isAdmission(err)
}
