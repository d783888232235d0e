package sources

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
)

// AddTo adds the reconciler to a manager: it watches sources, and the pools that came
// from them.
func (r *Reconciler) AddTo(mgr manager.Manager) error {
	if err := mgr.Add(r); err != nil {
		return err
	}
	changedByHand := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return builder.ControllerManagedBy(mgr).
		Named("source").
		WithOptions(controller.Options{MaxConcurrentReconciles: Workers, RateLimiter: loop.NewRateLimiter()}).
		For(&v1.NodePoolSource{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, loop.DeletionBegan, loop.FinalizersChanged))).
		Watches(&v1.NodePool{}, r.poolEvents(), builder.WithPredicates(changedByHand)).
		WatchesRawSource(source.Func(r.keepQueue)).
		Complete(loop.WithBackoff(r))
}

// poolEvents lead to the sources that a pool names as its owner, by UID or by name.
// They wait a little: a pass writes its pools one after the other, and the cache
// follows.
func (r *Reconciler) poolEvents() handler.Funcs {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue loop.Queue) {
			r.enqueueSources(ctx, e.ObjectOld, queue)
			r.enqueueSources(ctx, e.ObjectNew, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue loop.Queue) {
			r.enqueueSources(ctx, e.Object, queue)
		},
	}
}

func (r *Reconciler) enqueueSources(ctx context.Context, pool client.Object, queue loop.Queue) {
	named := pool.GetLabels()[v1.SourceLabel]
	if named != "" {
		queue.AddAfter(loop.RequestFor(named), loop.RetryPeriod)
	}
	uid := types.UID(pool.GetAnnotations()[v1.SourceUIDAnnotation])
	if uid == "" {
		return
	}
	var sources v1.NodePoolSourceList
	if err := r.client.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "list sources", "pool", pool.GetName())
		return
	}
	for i := range sources.Items {
		if src := &sources.Items[i]; src.UID == uid && src.Name != named {
			queue.AddAfter(loop.RequestFor(src.Name), loop.RetryPeriod)
		}
	}
}
