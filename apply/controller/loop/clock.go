package loop

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Clock is by which reconcilers decide what may happen when, and wait until then. What
// only paces requests and reports goes by the time of the machine.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	// NewQueue makes the queues in which requests wait; nil is for those of
	// controller-runtime, which go by the time of the machine.
	NewQueue func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) Queue
}

// SystemClock is that of the machine.
func SystemClock() Clock { return Clock{Now: time.Now, After: time.After} }
