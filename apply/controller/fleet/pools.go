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
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// pools keeps the pools of the cache worked out, so that a node event does not pay for
// it.
type pools struct {
	catchUp
	nodes   nodecache.Reader
	changes *publisher

	mu sync.Mutex
	// epoch counts the changes of pools that nodes have to follow.
	epoch   uint64
	current *Snapshot
	// rollouts are those of the current snapshot, to be read without the lock.
	rollouts atomic.Pointer[plan.Rollouts]
	// deletions are those of pools that belong together.
	deletions deletions
}

func newPools(cached client.Reader, nodes nodecache.Reader, changes *publisher) *pools {
	return &pools{
		catchUp: catchUp{cached: cached}, nodes: nodes, changes: changes, epoch: 1,
		deletions: deletions{now: time.Now, seen: map[types.UID]bool{}},
	}
}

// changed begins an epoch, as pools have changed, and publishes that.
func (p *pools) changed(pools ...string) {
	p.mu.Lock()
	p.epoch++
	p.mu.Unlock()
	for _, pool := range pools {
		p.changes.publish(pool, Definition)
	}
}

// counted follows the pools that a source has written above a number, as it has another one now, or
// is gone.
func (p *pools) counted(ctx context.Context, source types.UID, from int64) {
	definitions, err := p.list(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "the pools of a revision are not followed yet", "source", source)
		return // never: this reads the cache
	}
	var names []string
	for _, pool := range definitions {
		if plan.CountsAfter(pool, source, from) {
			names = append(names, pool.Name)
		}
	}
	p.changed(names...)
}

// latest is the epoch that began last.
func (p *pools) latest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// Snapshot returns the pools as nodes follow them by the cache, or as they did after the last
// change: later differences come with a change of their own.
func (p *pools) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := p.CatchUp(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && p.current.Epoch == p.epoch {
		if !p.current.over(p.deletions.now()) {
			return p.current, nil
		}
		p.epoch++
	}
	numbers, err := p.numbers(ctx) // before the pools: see catchUp
	if err != nil {
		return nil, err
	}
	definitions, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	accepted, until, err := p.accept(ctx, definitions, numbers)
	if err != nil {
		return nil, err
	}
	p.current = newSnapshot(definitions, numbers, accepted, until, p.epoch, p.current)
	p.rollouts.Store(p.current.Rollouts)
	return p.current, nil
}

// numbers are those of the sources in the cache.
func (p *pools) numbers(ctx context.Context) (plan.Numbers, error) {
	var list v1.NodePoolSourceList
	if err := p.cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	sources := make([]*v1.NodePoolSource, len(list.Items))
	for i := range list.Items {
		sources[i] = &list.Items[i]
	}
	return plan.NumbersOf(sources), nil
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
