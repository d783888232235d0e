package pools

import (
	"context"
	"strings"

	nodev1 "k8s.io/api/node/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// AddTo adds the reconciler to a manager: it watches the pools and the counts of the
// fleet, what else changes in a pool, and the RuntimeClasses of their names.
func (r *Reconciler) AddTo(mgr manager.Manager) error {
	const all = fleet.Definition | fleet.Held | fleet.Settled | fleet.News | fleet.Numbers | fleet.Elsewhere
	return builder.ControllerManagedBy(mgr).
		Named("pool").
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: loop.NewRateLimiter()}).
		Watches(&v1.NodePool{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(changedOtherwise)).
		Watches(&nodev1.RuntimeClass{}, handler.EnqueueRequestsFromMapFunc(poolOfClass)).
		WatchesRawSource(r.fleet.Requests(all, 0, r.follower())).
		Complete(loop.WithBackoff(r))
}

// follower puts the pools into the queue that have changed, and those that they enclose,
// whose RuntimeClass and soundness depend on them. What nobody waits for is coalesced, and
// what happens to others is reported later still.
func (r *Reconciler) follower() fleet.Deliver {
	var numbers *coalescer
	return func(ctx context.Context, changes fleet.Changes, queue loop.Queue) error {
		if numbers == nil {
			numbers = newCoalescer(func(pool string) { queue.Add(loop.RequestFor(pool)) })
		}
		var defined []string
		for pool, change := range changes {
			switch {
			case change&(fleet.Definition|fleet.Held|fleet.Settled) != 0:
				queue.Add(loop.RequestFor(pool))
			case change&fleet.News != 0:
				queue.AddAfter(loop.RequestFor(pool), StatusPeriod)
			case change&fleet.Numbers != 0:
				numbers.add(pool)
			default:
				queue.AddAfter(loop.RequestFor(pool), maxCoalesce)
			}
			if change&fleet.Definition != 0 {
				defined = append(defined, pool)
			}
		}
		return r.enqueueEnclosed(ctx, defined, queue)
	}
}

func (r *Reconciler) enqueueEnclosed(ctx context.Context, defined []string, queue loop.Queue) error {
	if len(defined) == 0 {
		return nil
	}
	enclosed, err := r.fleet.Enclosed(ctx, defined...)
	if err != nil {
		return err
	}
	for _, pool := range enclosed {
		queue.Add(loop.RequestFor(pool))
	}
	return nil
}

// changedOtherwise passes what changes in a pool and is no [fleet.Definition]. The
// reconciler's own writes of the status are no news; but a halt is put back that somebody
// has taken out of it, as the next leader goes by that.
var changedOtherwise = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return fleet.SameDefinition(e.ObjectOld, e.ObjectNew) && (otherThanStatus.Update(e) || losesHalt(e))
	},
}

func losesHalt(e event.UpdateEvent) bool {
	before, okBefore := e.ObjectOld.(*v1.NodePool)
	after, okAfter := e.ObjectNew.(*v1.NodePool)
	return okBefore && okAfter && plan.HaltOf(before) != nil && !plan.HaltOf(before).Equal(plan.HaltOf(after))
}

var otherThanStatus = predicate.Or[client.Object](predicate.AnnotationChangedPredicate{}, loop.FinalizersChanged)

// poolOfClass goes by the name: the pool waits for the end of a RuntimeClass that
// is somebody else's, too.
func poolOfClass(_ context.Context, class client.Object) []reconcile.Request {
	pool, ours := strings.CutPrefix(class.GetName(), v1.RuntimeClassPrefix)
	if !ours {
		return nil
	}
	return []reconcile.Request{loop.RequestFor(pool)}
}
