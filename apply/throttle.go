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

// longestHold bounds for how long one answer keeps all writes back. The API server
// asks for a second or a few. An admission webhook may ask to come back in an hour,
// and means one node by it.
const longestHold = 5 * time.Second

// Throttle is a NodePatcher that has a bounded number of writes under way, and
// fewer when the API server pushes back.
//
// A push-back halves the limit, once for all writes that were under way at that
// moment, and no write begins until the time has passed that the API server asks
// for. Each time that as many writes as the limit were answered otherwise, it
// rises by one. Writes begin in the order in which they came.
//
// It does not try again: the caller does, with a new plan.
type Throttle struct {
	next NodePatcher
	most int

	mu       sync.Mutex
	limit    int
	underWay int
	// era counts how often the limit was halved, answered the writes that went
	// through since the limit last moved.
	era, answered int
	// until is when writes may begin again.
	until time.Time
	// waiting are the writes that may not begin yet.
	waiting []*turn
}

// turn is that of a write. It is closed when the write may begin, in the era in
// which it does.
type turn struct {
	come chan struct{}
	era  int
}

// NewThrottle returns a Throttle that has at most so many writes under way, and
// begins with that many.
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

// enter waits until a write may begin, and tells in which era it does.
func (t *Throttle) enter(ctx context.Context) (era int, err error) {
	mine := &turn{come: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.admit()
	t.mu.Unlock()
	select {
	case <-mine.come:
		return mine.era, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else { // its turn came in the same moment
		t.underWay--
		t.admit()
	}
	return 0, ctx.Err()
}

// leave learns from how a write of an era ended, and lets others begin.
func (t *Throttle) leave(era int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay--
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

// admit lets as many of those who wait begin as may. The lock is held.
func (t *Throttle) admit() {
	if time.Now().Before(t.until) {
		return // when it is over, it is called again
	}
	for len(t.waiting) > 0 && t.underWay < t.limit {
		next := t.waiting[0]
		next.era = t.era
		close(next.come)
		t.waiting = slices.Delete(t.waiting, 0, 1)
		t.underWay++
	}
}

// pushedBack reports whether an answer, or that there was none in time, says that
// the API server cannot keep up, and for how long it wants to be left alone.
func pushedBack(err error) (wait time.Duration, pushed bool) {
	seconds, told := apierrors.SuggestsClientDelay(err)
	late := net.Error(nil)
	pushed = told || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) ||
		errors.As(err, &late) && late.Timeout()
	return min(time.Duration(seconds)*time.Second, longestHold), pushed
}

// answered reports whether the API server has said yes or no to a write.
func answered(err error) bool {
	no := apierrors.APIStatus(nil)
	return err == nil || errors.As(err, &no) && no.Status().Code < http.StatusInternalServerError
}
