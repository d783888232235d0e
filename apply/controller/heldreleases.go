package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// deletionGap is how long after the deletion of a pool another one counts as of the
// same cause. The deletion of a CustomResourceDefinition deletes its pools one after
// the other, and nodes must not follow the first before the last is known.
const deletionGap = time.Second

// heldPools are the pools of a snapshot that must stay as they are.
type heldPools struct {
	// blocked wait for an approval, by name.
	blocked map[string]*plan.ReleaseBlock
	// gathered are being deleted, and nodes follow at until, unless others are
	// deleted meanwhile.
	gathered []string
	until    time.Time
}

var errGathered = errors.New("is being deleted, and nodes follow when it is known which other pools are")

func (h heldPools) expand(definitions []*v1.NodePool) *render.Expansion {
	reasons := make(map[string]error, len(h.blocked)+len(h.gathered))
	for _, name := range h.gathered {
		reasons[name] = errGathered
	}
	for name, block := range h.blocked {
		reasons[name] = block
	}
	return render.ExpandHeld(definitions, reasons)
}

// over reports whether the time is over for which pools are gathered.
func (h heldPools) over(now time.Time) bool { return len(h.gathered) > 0 && !now.Before(h.until) }

func (h heldPools) has(pool string) bool {
	return h.blocked[pool] != nil || slices.Contains(h.gathered, pool)
}

// differences are the pools that are held in one of two sets and not in the other.
func (h heldPools) differences(other heldPools) []string {
	var names []string
	for _, name := range slices.Concat(h.names(), other.names()) {
		if h.has(name) != other.has(name) || (h.blocked[name] == nil) != (other.blocked[name] == nil) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (h heldPools) names() []string {
	return slices.AppendSeq(slices.Clone(h.gathered), maps.Keys(h.blocked))
}

// deletions knows when the last pool was found to be deleted.
type deletions struct {
	now  func() time.Time
	seen map[types.UID]bool
	last time.Time
}

// note notes the pools that are being deleted, and returns until when others are
// waited for.
func (d *deletions) note(definitions []*v1.NodePool) (until time.Time) {
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

// heldReleases are the pools that must stay as they are until somebody approves
// what would become of nodes. It is asked once per change of pools. It reads no
// node unless a pool has changed its members, is being deleted or is gone, or one
// was held before; at the start it reads them all.
func (s *poolSet) heldReleases(ctx context.Context, definitions []*v1.NodePool) (heldPools, error) {
	until := s.deletions.note(definitions)
	if s.current != nil && len(s.current.held.names()) == 0 && !s.lost(definitions) && !plan.MayHoldReleases(definitions) {
		return heldPools{}, nil
	}
	nodes, err := listNodes(ctx, s.cached)
	if err != nil {
		return heldPools{}, err
	}
	held := heldPools{blocked: plan.HeldReleases(definitions, nodes)}
	known := index(definitions)
	for name := range s.letGo {
		switch pool := known[name]; {
		case pool == nil && held.blocked[name] != nil:
			delete(held.blocked, name) // it has released its nodes; the cache of nodes is behind
		case pool == nil || pool.DeletionTimestamp.IsZero():
			delete(s.letGo, name)
		}
	}
	if s.deletions.now().Before(until) {
		held.gathered, held.until = plan.Departing(definitions, nodes), until
	}
	for _, name := range slices.Sorted(maps.Keys(held.blocked)) {
		// No status can report a pool that is gone.
		if known[name] == nil && (s.current == nil || !s.current.held.has(name)) {
			log.FromContext(ctx).Error(held.blocked[name], "nothing is released of a pool that is gone", "pool", name)
		}
	}
	return held, nil
}

// releaseDone notes that a pool has released its nodes and is about to go.
func (s *poolSet) releaseDone(pool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letGo[pool] = true
}

// lost reports whether a pool is gone since the last snapshot.
func (s *poolSet) lost(definitions []*v1.NodePool) bool {
	known := index(definitions)
	for name := range s.current.pools {
		if known[name] == nil {
			return true
		}
	}
	return false
}

// listNodes lists the nodes of a cache. They are the cache's, and must not change.
func listNodes(ctx context.Context, cached client.Reader) ([]*corev1.Node, error) {
	var list corev1.NodeList
	if err := cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]*corev1.Node, 0, len(list.Items))
	for i := range list.Items {
		nodes = append(nodes, &list.Items[i])
	}
	return nodes, nil
}
