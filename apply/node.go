package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// NodePatcher sends the patch of one node, under our field manager. An apply is
// forced: it contains only what is ours and, as taints of others are part of
// the same list, their live values, so forcing it changes nothing of others. An
// error wraps the API server's.
type NodePatcher interface {
	PatchNode(ctx context.Context, name string, patch plan.Patch) error
}

// Node writes a plan to the node that it was made for, in one request, or in
// none when nothing changes. An error wraps the API server's: see [IsConflict];
// NotFound means that nothing was written or created.
//
// Where the API server refuses the plan because the node would be too large, what the plan
// releases is written all the same, and the error returned.
func (a *Applier) Node(ctx context.Context, node *plan.NodeState, p *plan.NodePlan) error {
	if p.NoOp() {
		return nil
	}
	return a.write(ctx, node, p, (*plan.NodePlan).Patch)
}

// Walls writes the walls of a plan, see [plan.NodePlan.Walls], whoever writes the node at the
// same time. It is for a node of which [Applier.Node] is refused as outdated again and again.
func (a *Applier) Walls(ctx context.Context, node *plan.NodeState, walls *plan.NodePlan) error {
	return a.write(ctx, node, walls, (*plan.NodePlan).TestedPatch)
}

// IsRefused reports whether a write was refused for what it says: by an admission policy, a
// webhook, or the rules for nodes. That it was not allowed to write at all looks the same.
func IsRefused(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || isOutdatedTest(err) {
		return false
	}
	if isAdmission(err) {
		return true
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestEntityTooLarge, http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// isAdmission reports whether an admission policy or a webhook has denied a write of a node,
// which may use any code for that.
func isAdmission(err error) bool {
	return saysAtFirst(err, "admission webhook ") || saysAtFirst(err, "nodes ") && strings.Contains(err.Error(), ": ValidatingAdmissionPolicy '")
}

// isOutdatedTest reports whether a JSON patch was refused by one of its own tests. The API
// server says of that no more than this.
func isOutdatedTest(err error) bool {
	return apierrors.IsInvalid(err) && saysAtFirst(err, "the server rejected our request due to an error in our request")
}

// patchMaker is how a plan becomes a request.
type patchMaker func(*plan.NodePlan, *plan.NodeState) (plan.Patch, error)

func (a *Applier) write(ctx context.Context, node *plan.NodeState, p *plan.NodePlan, patchOf patchMaker) error {
	err := a.patch(ctx, node, p, patchOf)
	if !isTooLarge(err) {
		return err
	}
	removals := p.Removals(node)
	if removals == nil {
		return err
	}
	if also := a.patch(ctx, node, removals, patchOf); also != nil {
		return also // which may be a refusal that can be mended
	}
	return err
}

func (a *Applier) patch(ctx context.Context, node *plan.NodeState, p *plan.NodePlan, patchOf patchMaker) error {
	patch, err := patchOf(p, node)
	if err != nil {
		return err
	}
	err = a.nodes.PatchNode(ctx, node.Name, patch)
	switch {
	case isTooLarge(err):
		return fmt.Errorf("write node %q: it would be too large: %w", node.Name, err)
	case err != nil:
		return fmt.Errorf("write node %q: %w", node.Name, err)
	}
	return nil
}

// isTooLarge reports whether an object would be too large. What etcd says of that the API
// server passes on without a reason or a code of its own, as it does what its client of etcd
// says of an object that it does not even send: with an apply, a node may grow by a list of all
// its fields.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) && !isAdmission(err) || saysAtFirst(err, "etcdserver: request is too large") ||
		saysAtFirst(err, "rpc error: code = ResourceExhausted desc = trying to send message larger than max")
}

// saysAtFirst reports whether the answer of an API server begins with a text. What comes later
// in it may be the text of others, such as of a policy.
func saysAtFirst(err error, text string) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && strings.HasPrefix(status.Status().Message, text)
}

// nodesBy patches nodes through a client, which may turn a write into a dry run.
type nodesBy struct{ client client.Client }

func (n nodesBy) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	var options []client.PatchOption
	if patch.Type == types.ApplyPatchType {
		options = append(options, client.ForceOwnership)
	}
	// Requested as its metadata, a node is returned without the rest of it.
	written := &metav1.PartialObjectMetadata{}
	written.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	written.Name = name
	return n.client.Patch(ctx, written, client.RawPatch(patch.Type, patch.Data), options...)
}
