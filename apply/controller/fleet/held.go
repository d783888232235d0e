package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// deletionGap is how long after the deletion of a pool another one counts as of the
// same cause. The deletion of a CustomResourceDefinition deletes its pools one after
// the other, and nodes must not follow the first before the last is known.
const deletionGap = time.Second

// holds are the pools of a snapshot that are held.
type holds struct {
	plan.Holds
	// until is when nodes follow those that are gathered, unless others are deleted
	// meanwhile.
	until time.Time
}

// over reports whether the time is over for which pools are gathered.
func (h holds) over(now time.Time) bool { return len(h.Gathered) > 0 && !now.Before(h.until) }

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

// holdsOf asks the plan which pools are held, once per change of pools. It reads no node
// unless a pool has changed its members, is being deleted or is gone, or one was held
// before; at the start it reads them all.
func (p *pools) holdsOf(ctx context.Context, definitions []*v1.NodePool) (holds, error) {
	until := p.deletions.observe(definitions)
	if p.current != nil && len(p.current.held.Names()) == 0 && !p.lost(definitions) && !plan.MayHoldReleases(definitions) {
		return holds{}, nil
	}
	nodes, err := p.nodes.Nodes(ctx)
	if err != nil {
		return holds{}, err
	}
	goes, err := p.definitionGoes(ctx, definitions)
	if err != nil {
		return holds{}, err
	}
	held := plan.HoldsOf(definitions, nodes, plan.HoldFacts{Released: p.released, Deleting: p.deletions.now().Before(until), DefinitionGoes: goes})
	p.released = held.Released
	p.logVanished(ctx, definitions, held)
	return holds{held, until}, nil
}

// definitionGoes reports whether the CustomResourceDefinition of pools is being deleted. That
// deletes pools one after the other. Where the API server is slow, or is restarted meanwhile, the
// first one may be the only one for longer than others are waited for. Where the definition may not
// be read, it is not known to go.
func (p *pools) definitionGoes(ctx context.Context, definitions []*v1.NodePool) (bool, error) {
	if p.live == nil || !plan.MayFollowDefinition(definitions) {
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

// logVanished logs what is held of pools that are gone: no status can report that.
func (p *pools) logVanished(ctx context.Context, definitions []*v1.NodePool, held plan.Holds) {
	known := byName(definitions)
	for _, name := range slices.Sorted(maps.Keys(held.Blocked)) {
		if known[name] == nil && (p.current == nil || !p.current.held.Has(name)) {
			log.FromContext(ctx).Error(held.Blocked[name], "nothing is released of a pool that is gone", "pool", name)
		}
	}
}

// lost reports whether a pool is gone since the last snapshot.
func (p *pools) lost(definitions []*v1.NodePool) bool {
	known := byName(definitions)
	for name := range p.current.pools {
		if known[name] == nil {
			return true
		}
	}
	return false
}
