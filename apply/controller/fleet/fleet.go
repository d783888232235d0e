package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Fleet is the view of pools and nodes that the reconcilers share. Make one with [New].
type Fleet struct {
	*pools
	*counts
	startup startup

	changes *publisher
	cached  client.Reader
	// registration is that of [Fleet.Watch]; nil where nothing is watched.
	registration toolscache.ResourceEventHandlerRegistration

	// following is held by [Fleet.Follow]; followed are the pools that it has followed
	// last.
	following sync.Mutex
	followed  *Snapshot
}

// New returns a view of what a cache has. It does not follow changes before
// [Fleet.Watch].
func New(cached client.Reader) *Fleet {
	changes := &publisher{}
	counts := newCounts(changes)
	return &Fleet{
		pools: newPools(cached, changes), counts: counts, startup: startup{cached: cached, counts: counts, now: time.Now},
		changes: changes, cached: cached,
	}
}

// Watch follows the pools of a cache from now on.
func (f *Fleet) Watch(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &v1.NodePool{})
	if err != nil {
		return fmt.Errorf("watch pools: %w", err)
	}
	f.registration, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: f.changedObject,
		UpdateFunc: func(before, after any) {
			was, okBefore := before.(client.Object)
			is, okAfter := after.(client.Object)
			if okBefore && okAfter && !SameDefinition(was, is) {
				f.changed(is.GetName())
			}
		},
		DeleteFunc: f.changedObject,
	})
	if err != nil {
		return fmt.Errorf("watch pools: %w", err)
	}
	return nil
}

// changedObject takes what informers hand over: a pool, or what the cache last had of
// one whose deletion it has missed.
func (f *Fleet) changedObject(object any) {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	if pool, ok := object.(client.Object); ok {
		f.changed(pool.GetName())
	}
}

func (f *Fleet) waitForSync(ctx context.Context) error {
	if f.registration == nil {
		return nil
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), f.registration.HasSynced) {
		return errors.New("the pools did not arrive in time")
	}
	return nil
}

// Expect adds a node that has come and will be observed.
func (f *Fleet) Expect(node string) { f.expect(node, f.latest()) }

// EveryNodeObserved reports whether a pass over every node has ended since the start.
// Once that is so it stays so: a node that joins changes counts when it was observed.
func (f *Fleet) EveryNodeObserved(ctx context.Context) (bool, error) {
	return f.startup.everyNodeObserved(ctx)
}
