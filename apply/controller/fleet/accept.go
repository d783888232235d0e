package fleet

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// deletionGap is how long after the deletion of a pool another one counts as of the
// same cause. The deletion of a CustomResourceDefinition deletes its pools one after
// the other, and nodes must not follow the first before the last is known.
const deletionGap = time.Second

// deletions knows when the last pool was found to be deleted.
type deletions struct {
	now  func() time.Time
	seen map[types.UID]bool
	last time.Time
}

// observe takes note of the pools that are being deleted, and returns until when others
// are waited for.
func (d *deletions) observe(definitions []*v1.NodePool) (until time.Time) {
	seen := map[types.UID]bool{}
	for _, pool := range definitions {
		if pool.DeletionTimestamp.IsZero() {
			continue
		}
		seen[pool.UID] = true
		if !d.seen[pool.UID] {
			d.last = d.now()
		}
	}
	d.seen = seen
	return d.last.Add(deletionGap)
}

// accept asks the plan which pools nodes follow, once per change of pools. It reads no node
// unless something was written by hand. It returns until when others are waited for, where
// deletions are gathered.
func (p *pools) accept(ctx context.Context, definitions []*v1.NodePool, numbers plan.Numbers) (_ *plan.Acceptance, until time.Time, err error) {
	until = p.deletions.observe(definitions)
	facts := plan.AcceptFacts{Deleting: p.deletions.now().Before(until)}
	if !plan.NeedsNodes(definitions, numbers) {
		return plan.Accept(definitions, nil, numbers, facts), until, nil
	}
	nodes, err := p.nodes.Nodes(ctx)
	if err != nil {
		return nil, until, err
	}
	if facts.DefinitionGoes, err = p.definitionGoes(ctx, definitions, numbers); err != nil {
		return nil, until, err
	}
	return plan.Accept(definitions, nodes, numbers, facts), until, nil
}

// definitionGoes reports whether the CustomResourceDefinition of pools is being deleted. That
// deletes pools one after the other. Where the API server is slow, or is restarted meanwhile, the
// first one may be the only one for longer than others are waited for. Where the definition may not
// be read, it is not known to go.
func (p *pools) definitionGoes(ctx context.Context, definitions []*v1.NodePool, numbers plan.Numbers) (bool, error) {
	if p.live == nil || !plan.DeletesByHand(definitions, numbers) {
		return false, nil
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := p.live.Get(ctx, client.ObjectKey{Name: "nodepools." + v1.GroupVersion.Group}, definition)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the definition of NodePools: %w", err)
	default:
		return !definition.DeletionTimestamp.IsZero(), nil
	}
}
