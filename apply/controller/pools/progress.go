package pools

import (
	"sync"
	"time"
)

const (
	// StatusPeriod is the time in which changes of a pool's counts are coalesced into one
	// write of its status.
	StatusPeriod = time.Second
	// progressPeriod is how often a status reports how far a change is that takes longer.
	progressPeriod = 5 * time.Second
	// progressGap is the least time between two pools that report so, and maxDelay how
	// long one is delayed at most for that.
	progressGap = 500 * time.Millisecond
	maxDelay    = 30 * time.Second
)

// progress says when the status of a pool reports how far a change is that is being
// carried out. A report costs a write that nodes could have: where many pools have
// changed they take turns.
type progress struct {
	now func() time.Time

	mu      sync.Mutex
	waiting map[string]wait
	// first and again are the last slots that were given away, for the first report of a
	// pool and for others.
	first, again time.Time
}

// wait is since when the nodes are waited for that a change of a pool concerns, and
// when it is next reported how far they are.
type wait struct {
	since uint64
	next  time.Time
}

func newProgress() *progress { return &progress{now: time.Now, waiting: map[string]wait{}} }

// wait is how long to report nothing yet of a change; 0 when it is time. That is for the
// first time after StatusPeriod, and from then on once in progressPeriod.
func (p *progress) wait(pool string, since uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	w, waiting := p.waiting[pool]
	if !waiting || w.since != since {
		w = wait{since: since, next: nextSlot(&p.first, now.Add(StatusPeriod))}
	}
	left := w.next.Sub(now)
	if left <= 0 {
		left, w.next = 0, nextSlot(&p.again, now.Add(progressPeriod))
	}
	p.waiting[pool] = w
	return left
}

// nextSlot is the first moment from a time on that comes progressGap after the last slot,
// but not much later than that time: slots are not given back.
func nextSlot(last *time.Time, from time.Time) time.Time {
	next := last.Add(progressGap)
	if next.Before(from) {
		next = from
	}
	if latest := from.Add(maxDelay); next.After(latest) {
		next = latest
	}
	*last = next
	return next
}

func (p *progress) forget(pool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, pool)
}
