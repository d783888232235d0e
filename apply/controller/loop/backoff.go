package loop

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nodepools/nodepools/apply"
)

// ErrBehind says that what a pass has seen is not what the API server has.
var ErrBehind = errors.New("the cache is behind")

// IsSoonOver reports whether a pass that ended so goes through a moment later.
func IsSoonOver(err error) bool {
	return apply.IsConflict(err) || errors.Is(err, ErrBehind)
}

// WithBackoff runs a loop whose passes may have to wait.
//
// A pass that ends in a conflict is no failure: somebody else was faster, or the
// cache is behind, and a moment later it goes through. Where it does not, because
// the API server refuses every write so, the moments grow up to MaxBackoff. A pass
// that nodes wait for is repeated as soon.
//
// And an API server that says when to come back, as one does that has too much to
// do, is not asked earlier. Writes of nodes come here with the first such answer,
// see [apply.Throttle]; for all other requests the client waits so for ten times
// before it gives up and leaves it to the loop.
func WithBackoff(loop reconcile.Reconciler) reconcile.Reconciler {
	waits := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](RetryPeriod, MaxBackoff)
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := loop.Reconcile(ctx, request)
		seconds, asksToWait := apierrors.SuggestsClientDelay(err)
		if err == nil {
			waits.Forget(request) // not after a failure: the two may take turns
		}
		if !asksToWait && !IsSoonOver(err) {
			return result, err
		}
		wait := max(waits.When(request), time.Duration(seconds)*time.Second)
		if asksToWait {
			log.FromContext(ctx).Error(err, "the API server asks to come back later", "after", wait)
		}
		return reconcile.Result{RequeueAfter: wait}, nil
	})
}
