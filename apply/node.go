package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodepools/nodepools/apply/plan"
)

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
	var options []client.PatchOption
	if patch.Type == types.ApplyPatchType {
		// What an apply carries is either ours or, as the taints of others are,
		// exactly what stands there: forcing it takes nothing from anybody.
		options = append(options, client.ForceOwnership)
	}
	written := &corev1.Node{}
	written.Name = node.Name
	if err := a.client.Patch(ctx, written, client.RawPatch(patch.Type, patch.Data), options...); err != nil {
		return fmt.Errorf("write node %q: %w", node.Name, err)
	}
	return nil
}
