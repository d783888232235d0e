package loop

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue has the requests that a reconciler is yet to serve.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// RetryPeriod is how soon a pass comes back for what the cache does not have yet.
const RetryPeriod = 100 * time.Millisecond

// AtOnce puts a request back into the queue for a pass of its own.
const AtOnce = time.Nanosecond

// A pass that failed is repeated after FirstBackoff, and then after twice as long
// each time, up to MaxBackoff. What stood in its way may be gone, and no event
// reports that.
const (
	FirstBackoff = 5 * time.Millisecond
	MaxBackoff   = 30 * time.Second
)

// NewRateLimiter returns the rate limiter of a queue.
func NewRateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](FirstBackoff, MaxBackoff)
}

// RequestFor is the request for a cluster-scoped object.
func RequestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// DeletionBegan passes the update by which an object with a finalizer is deleted.
var DeletionBegan = onUpdate(func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetDeletionTimestamp().IsZero() && !e.ObjectNew.GetDeletionTimestamp().IsZero()
})

// FinalizersChanged passes the update by which somebody removes a finalizer.
var FinalizersChanged = onUpdate(func(e event.UpdateEvent) bool {
	return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
})

func onUpdate(passes func(event.UpdateEvent) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  passes,
	}
}
