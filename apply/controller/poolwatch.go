package controller

import (
	"context"
	"slices"
	"strings"

	nodev1 "k8s.io/api/node/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// addTo watches pools, the RuntimeClasses of their names, and the tally.
func (l *poolLoop) addTo(mgr manager.Manager) error {
	figures := source.Func(func(_ context.Context, queue requestQueue) error {
		counts := newCoalescer(func(pool string) { queue.Add(requestFor(pool)) })
		l.tally.onMove(
			func(pool string, news bool) {
				if news {
					queue.AddAfter(requestFor(pool), statusPeriod)
				} else {
					counts.add(pool)
				}
			},
			func(pool string) { queue.Add(requestFor(pool)) },
		)
		l.pools.onUnfreeze(func(pools []string) {
			for _, pool := range pools {
				queue.Add(requestFor(pool))
			}
		})
		return nil
	})
	ownStatusIsNoNews := predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletionBegan, finalizersChanged)
	return builder.ControllerManagedBy(mgr).
		Named("pool").
		WithOptions(controller.Options{MaxConcurrentReconciles: poolWorkers, RateLimiter: newRateLimiter()}).
		Watches(&v1.NodePool{}, l.poolEvents(), builder.WithPredicates(ownStatusIsNoNews)).
		Watches(&nodev1.RuntimeClass{}, handler.EnqueueRequestsFromMapFunc(poolOfClass)).
		WatchesRawSource(figures).
		Complete(withBackoff(l))
}

// poolEvents lead to the pool and to those that it encloses, whose RuntimeClass
// and soundness depend on it.
func (l *poolLoop) poolEvents() handler.EventHandler {
	// The pass must see the pools as the event left them.
	one := func(pool client.Object, queue requestQueue) (follow bool) {
		follow = l.pools.changed(pool.GetName())
		queue.Add(requestFor(pool.GetName()))
		return follow
	}
	inner := func(ctx context.Context, pool client.Object, queue requestQueue) {
		names, err := l.pools.enclosed(ctx, pool.GetName())
		if err != nil {
			log.FromContext(ctx).Error(err, "enclosed pools are not looked at", "pool", pool.GetName())
		}
		for _, name := range names {
			queue.Add(requestFor(name))
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue requestQueue) {
			if one(e.Object, queue) && !e.IsInInitialList { // then every pool has an event of its own
				inner(ctx, e.Object, queue)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue requestQueue) {
			if versionOf(e.ObjectOld) == versionOf(e.ObjectNew) {
				queue.Add(requestFor(e.ObjectNew.GetName()))
				return
			}
			if one(e.ObjectNew, queue) {
				inner(ctx, e.ObjectNew, queue)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue requestQueue) {
			if one(e.Object, queue) {
				inner(ctx, e.Object, queue)
			}
		},
	}
}

// poolOfClass goes by the name: the pool waits for the end of a RuntimeClass that
// is somebody else's, too.
func poolOfClass(_ context.Context, class client.Object) []reconcile.Request {
	pool, ours := strings.CutPrefix(class.GetName(), v1.RuntimeClassPrefix)
	if !ours {
		return nil
	}
	return []reconcile.Request{requestFor(pool)}
}

// finalizersChanged lets through the update by which somebody takes ours away.
var finalizersChanged = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	},
}
