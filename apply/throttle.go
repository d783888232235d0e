package apply

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/apply/plan"
)

// maxDelay bounds how long one response delays all writes. The API server asks
// for a second or a few. An admission webhook may ask for a retry in an hour,
// and mean one node by it.
const maxDelay = 5 * time.Second

// Throttle is a NodePatcher that bounds the number of writes in flight, and
// lowers it when the API server pushes back.
//
// A push-back halves the limit, once for all writes that were in flight at that
// moment, and no write begins until the delay that the API server asks for has
// passed. Each time that as many writes as the limit were answered otherwise,
// the limit rises by one. Writes begin in the order in which they were
// requested.
//
// It does not retry: the caller does, with a new plan.
type Throttle struct {
	next NodePatcher
	most int

	mu       sync.Mutex
	limit    int
	inFlight int
	// era counts how often the limit was halved, answered the writes that
	// succeeded or were refused since the limit last changed.
	era, answered int
	// until is when writes may begin again.
	until time.Time
	// waiting are the writes that may not begin yet, in order.
	waiting []*slot
}

// slot is the slot of one write. Its channel is closed when the write may
// begin; era is the era in which it does.
type slot struct {
	free chan struct{}
	era  int
}

// NewThrottle returns a Throttle with at most so many writes in flight, which
// is also its first limit.
func NewThrottle(next NodePatcher, most int) *Throttle {
	most = max(most, 1)
	return &Throttle{next: next, most: most, limit: most}
}

// PatchNode implements [NodePatcher].
func (t *Throttle) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	era, err := t.enter(ctx)
	if err != nil {
		return err
	}
	err = t.next.PatchNode(ctx, name, patch)
	t.leave(era, err)
	return err
}

// enter waits until a write may begin, and returns the era in which it does.
func (t *Throttle) enter(ctx context.Context) (era int, err error) {
	mine := &slot{free: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.admit()
	t.mu.Unlock()
	select {
	case <-mine.free:
		return mine.era, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else { // its slot became free at the same moment
		t.inFlight--
		t.admit()
	}
	return 0, ctx.Err()
}

// leave adjusts the limit to the result of a write of an era, and lets others begin.
func (t *Throttle) leave(era int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	wait, pushed := pushedBack(err)
	switch {
	case pushed && era == t.era:
		t.limit = max(t.limit/2, 1)
		t.answered = 0
		t.era++
	case !pushed && answered(err):
		if t.answered++; t.answered >= t.limit {
			t.limit = min(t.limit+1, t.most)
			t.answered = 0
		}
	}
	if until := time.Now().Add(wait); wait > 0 && until.After(t.until) {
		t.until = until
		time.AfterFunc(wait, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.admit()
		})
	}
	t.admit()
}

// admit lets as many of the waiting writes begin as the limit allows. The lock is held.
func (t *Throttle) admit() {
	if time.Now().Before(t.until) {
		return // called again when the delay is over
	}
	for len(t.waiting) > 0 && t.inFlight < t.limit {
		next := t.waiting[0]
		next.era = t.era
		close(next.free)
		t.waiting = slices.Delete(t.waiting, 0, 1)
		t.inFlight++
	}
}

// pushedBack reports whether a response, or a timeout, says that the API server
// cannot keep up, and for how long it asks clients to wait.
func pushedBack(err error) (wait time.Duration, pushed bool) {
	seconds, suggested := apierrors.SuggestsClientDelay(err)
	late := net.Error(nil)
	pushed = suggested || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) ||
		errors.As(err, &late) && late.Timeout()
	return min(time.Duration(seconds)*time.Second, maxDelay), pushed
}

// answered reports whether the API server has accepted or refused a write.
func answered(err error) bool {
	no := apierrors.APIStatus(nil)
	return err == nil || errors.As(err, &no) && no.Status().Code < http.StatusInternalServerError
}
