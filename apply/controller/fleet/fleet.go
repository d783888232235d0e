package fleet

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// Fleet is the view of pools and nodes that the reconcilers share. Make one with [New].
type Fleet struct {
	*pools
	*counts
	startup startup
	turns   *turns

	changes *publisher
	nodes   nodecache.Reader
	// watching are the sources of all changes of pools; see [Fleet.Watch].
	watching, watchingSources source.SyncingSource
	started                   sync.Once

	// following is held by [Fleet.Follow]; followed are the pools that it has followed
	// last.
	following sync.Mutex
	followed  *Snapshot
}

// New returns a view of what a cache has, and of its nodes. [Fleet.Watch] makes it follow
// changes.
func New(cached client.Reader, nodes nodecache.Reader) *Fleet {
	changes := &publisher{}
	counts := newCounts(changes)
	return &Fleet{
		turns: newTurns(),
		pools: newPools(cached, nodes, changes), counts: counts, startup: startup{nodes: nodes, counts: counts, now: time.Now},
		changes: changes, nodes: nodes,
	}
}

// Nodes returns the nodes of the cache, in no order.
func (f *Fleet) Nodes(ctx context.Context) ([]*plan.NodeState, error) { return f.nodes.Nodes(ctx) }

// WithClock makes turns go by a clock.
func (f *Fleet) WithClock(clock loop.Clock) *Fleet {
	f.turns.clock = clock
	return f
}

// WithLive makes the view ask an API server for what must be newer than the cache.
func (f *Fleet) WithLive(live client.Reader) *Fleet {
	f.pools.live = live
	return f
}

// Watch follows the pools of a cache from the start of the first of [Fleet.Requests].
// Not earlier: a manager that is stopped while it waits for a cache that was asked for
// before it started does not end.
func (f *Fleet) Watch(pools cache.Cache) {
	f.watching = source.Kind(pools, client.Object(&v1.NodePool{}), handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ loop.Queue) { f.changed(e.Object.GetName()) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ loop.Queue) {
			if f.differs(e.ObjectOld, e.ObjectNew) {
				f.changed(e.ObjectNew.GetName())
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ loop.Queue) { f.changed(e.Object.GetName()) },
	})
	number := func(object client.Object) int64 {
		if src, ok := object.(*v1.NodePoolSource); ok {
			return src.Status.Number
		}
		return 0
	}
	f.watchingSources = source.Kind(pools, client.Object(&v1.NodePoolSource{}), handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, _ loop.Queue) { f.counted(ctx, e.Object.GetUID(), 0) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ loop.Queue) {
			if from := number(e.ObjectOld); from != number(e.ObjectNew) {
				f.counted(ctx, e.ObjectNew.GetUID(), from)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ loop.Queue) { f.counted(ctx, e.Object.GetUID(), 0) },
	})
}

// differs reports whether nodes follow something else of a pool than before, or may be to. That
// the status says by now what nodes follow already is no such change.
func (f *Fleet) differs(before, after client.Object) bool {
	was, okWas := before.(*v1.NodePool)
	is, okIs := after.(*v1.NodePool)
	f.pools.mu.Lock()
	defer f.pools.mu.Unlock()
	return !okWas || !okIs || f.current == nil || !SameDefinition(was, is) || !sameAccepted(f.current.numbers, was, is)
}

// start starts to follow the pools, once.
func (f *Fleet) start(ctx context.Context, queue loop.Queue) (err error) {
	f.started.Do(func() {
		if err = f.watchingSources.Start(ctx, queue); err == nil {
			err = f.watching.Start(ctx, queue)
		}
	})
	return err
}

// Report ends a pass over a node: with what it has observed, and what it has done there, by
// pool. It reports whether the node has to be observed once more, because an epoch has
// begun meanwhile.
func (f *Fleet) Report(node string, now Observation, results map[string]Result) (again bool) {
	before := f.Last(node)
	if before != nil && before.UID != now.UID {
		f.turns.forget(node) // another node of that name
	}
	f.turns.ended(node, &now)
	again = f.counts.Report(node, now, results)
	if before == nil || !before.EqualTurns(&now.FollowerState) || now.Asks() {
		f.turns.setDue()
	}
	return again
}

// Forget drops a node that is gone.
func (f *Fleet) Forget(node string) {
	f.turns.forget(node)
	f.counts.Forget(node)
	f.turns.setDue()
}

// Turn are the pools whose changes may go in the turn of a node, by a snapshot.
func (f *Fleet) Turn(node string, pools *Snapshot) plan.Turn { return f.turns.of(node).by(pools) }

// Outdated reports whether a node may be another one than a cache shows, by whose record
// this is the last change that it has followed: it has begun since, or may have.
func (f *Fleet) Outdated(node string, shown plan.LastChange) bool {
	return f.turns.outdated(node, shown)
}

// Shown notes which change a node has followed last, by what the API server has.
func (f *Fleet) Shown(node string, change plan.LastChange) { f.turns.shown(node, change) }

// Expect adds a node that has come and will be observed.
func (f *Fleet) Expect(node string) { f.expect(node, f.latest()) }

// EveryNodeObserved reports whether a pass over every node has ended since the start.
// Once that is so it stays so: a node that joins changes counts when it was observed.
func (f *Fleet) EveryNodeObserved(ctx context.Context) (bool, error) {
	return f.startup.everyNodeObserved(ctx)
}
