package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// NodePatcher sends the patch of one node, under our field manager, and an apply
// by force: what one carries is either ours or, as the taints of others are,
// exactly what stands there, so forcing it takes nothing from anybody. An error
// wraps the API server's.
type NodePatcher interface {
	PatchNode(ctx context.Context, name string, patch plan.Patch) error
}

// Node writes a plan to the node that it was made for, in one request, or in
// none when there is nothing to write. An error wraps the API server's: see
// [IsConflict]; NotFound means that the node is gone, and nothing was created.
func (a *Applier) Node(ctx context.Context, node *corev1.Node, p *plan.NodePlan) error {
	if p.Quiet() {
		return nil
	}
	patch, err := p.Patch(node)
	if err != nil {
		return err
	}
	if err := a.nodes.PatchNode(ctx, node.Name, patch); err != nil {
		return fmt.Errorf("write node %q: %w", node.Name, err)
	}
	return nil
}

// nodesBy patches nodes by a client, whatever that makes of a write: a dry run,
// for one.
type nodesBy struct{ client client.Client }

func (n nodesBy) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	var options []client.PatchOption
	if patch.Type == types.ApplyPatchType {
		options = append(options, client.ForceOwnership)
	}
	// Asked for by its metadata, a node is answered without the rest of it.
	written := &metav1.PartialObjectMetadata{}
	written.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	written.Name = name
	return n.client.Patch(ctx, written, client.RawPatch(patch.Type, patch.Data), options...)
}
