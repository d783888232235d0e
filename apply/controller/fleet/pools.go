package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// pools keeps the pools of the cache worked out, so that a node event does not pay for
// it.
type pools struct {
	cached  client.Reader
	live    client.Reader // of the API server; nil where definitions are not asked for
	nodes   nodecache.Reader
	changes *publisher

	// starting serializes the search for revisions that an earlier process has not
	// finished; resumed is true when it was done.
	starting sync.Mutex
	resumed  bool

	mu sync.Mutex
	// epoch counts the changes of pools that nodes have to follow.
	epoch   uint64
	current *Snapshot
	// rollouts are those of the current snapshot, to be read without the lock.
	rollouts atomic.Pointer[plan.Rollouts]
	// deletions are those of pools that belong together.
	deletions deletions
	// released are the names of the pools that went when they had released their nodes.
	released map[string]bool

	gate *gate
	// partial has, by source, the revision of which nodes follow a part.
	partial map[string]string
}

func newPools(cached client.Reader, nodes nodecache.Reader, changes *publisher) *pools {
	return &pools{
		cached: cached, nodes: nodes, changes: changes, epoch: 1,
		deletions: deletions{now: time.Now, seen: map[types.UID]bool{}}, released: map[string]bool{},
		gate: newGate(), partial: map[string]string{},
	}
}

// changed begins an epoch, as a pool has changed, and publishes that. While its revision
// is being written it does neither; that is done when the revision is written.
func (p *pools) changed(pool string) {
	if p.gate.isFrozen(pool) {
		return
	}
	p.mu.Lock()
	p.epoch++
	p.mu.Unlock()
	p.changes.publish(pool, Definition)
}

// latest is the epoch that began last.
func (p *pools) latest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// Snapshot returns the pools as they stand in the cache, or as they stood after the last
// change: later differences come with a change of their own. Of a revision that is being
// written it has the pools as they were before: see [Fleet.Freeze]. Nodes wait here for
// a revision that an earlier process has written in part.
func (p *pools) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := p.Resume(ctx); err != nil {
		return nil, err
	}
	if err := p.gate.wait(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && p.current.Epoch == p.epoch {
		if !p.current.held.over(p.deletions.now()) {
			return p.current, nil
		}
		p.epoch++
	}
	live, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	definitions := p.gate.before(live)
	held, err := p.holdsOf(ctx, definitions)
	if err != nil {
		return nil, err
	}
	p.current = newSnapshot(definitions, held, p.epoch, p.current)
	p.rollouts.Store(p.current.Rollouts)
	return p.current, nil
}

// Enclosed returns the names of the pools that one of the named pools encloses, or would
// enclose if it existed.
func (p *pools) Enclosed(ctx context.Context, names ...string) ([]string, error) {
	definitions, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	named := make(map[string]bool, len(names))
	for _, name := range names {
		named[name] = true
	}
	known := byName(definitions)
	var inner []string
	for _, pool := range definitions {
		around := lineOf(pool, known)[1:]
		if slices.ContainsFunc(around, func(p poolVersion) bool { return named[p.name] }) {
			inner = append(inner, pool.Name)
		}
	}
	return inner, nil
}

// Freeze keeps the named pools as the cache has them, whatever becomes of them, until
// [Fleet.Unfreeze] is called for the source. One that the source has frozen already
// stays as it was then.
func (p *pools) Freeze(ctx context.Context, source string, names []string) error {
	definitions, err := p.list(ctx)
	if err != nil {
		return err
	}
	known, before := byName(definitions), make(map[string]*v1.NodePool, len(names))
	for _, name := range names {
		before[name] = known[name]
	}
	p.gate.freeze(source, before)
	return nil
}

// Unfreeze follows the pools again that the source has frozen, as the cache has them,
// and ends the wait for a revision of it that an earlier process has begun.
func (p *pools) Unfreeze(source string) {
	names := p.gate.unfreeze(source)
	p.mu.Lock()
	delete(p.partial, source)
	if len(names) > 0 {
		p.epoch++
	}
	p.mu.Unlock()
	for _, name := range names {
		p.changes.publish(name, Definition)
	}
}

// IsFrozen reports whether changes of a pool are not followed for now.
func (p *pools) IsFrozen(pool string) bool { return p.gate.isFrozen(pool) }

// HasFrozen reports whether pools are frozen for a source.
func (p *pools) HasFrozen(source string) bool { return p.gate.freezes(source) }

// IsWriting reports whether a source is writing a revision, or has one to finish.
func (p *pools) IsWriting(source string) bool { return p.gate.writes(source) }

// PartialRevision returns the revision of a source of which nodes follow the part that
// an earlier process has written. It is empty where that is not so.
func (p *pools) PartialRevision(source string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.partial[source]
}

// followPartially publishes that nodes no longer wait for the rest of a revision.
func (p *pools) followPartially(source, revision string) {
	p.mu.Lock()
	p.partial[source] = revision
	p.mu.Unlock()
	p.changes.publish(source, Partial)
}

// Resume makes [Fleet.Snapshot] wait for the revisions that an earlier process has not
// finished. It does so once, before the first snapshot and the first pass over a source.
func (p *pools) Resume(ctx context.Context) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if p.resumed {
		return nil
	}
	var sources v1.NodePoolSourceList
	if err := p.cached.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list sources: %w", err)
	}
	for i := range sources.Items {
		if name, revision := sources.Items[i].Name, sources.Items[i].Status.ApplyingRevision; revision != "" {
			p.gate.await(name, func() { p.followPartially(name, revision) })
		}
	}
	p.resumed = true
	return nil
}

// Released takes note that a pool has released its nodes and is about to go.
func (p *pools) Released(pool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released[pool] = true
}

// list returns the pools of the cache. Nothing here changes a pool, and a copy of every
// pool per change is what would cost most.
func (p *pools) list(ctx context.Context) ([]*v1.NodePool, error) {
	return loop.ListPools(ctx, p.cached, client.UnsafeDisableDeepCopy)
}

func byName(definitions []*v1.NodePool) map[string]*v1.NodePool {
	named := make(map[string]*v1.NodePool, len(definitions))
	for _, pool := range definitions {
		named[pool.Name] = pool
	}
	return named
}
