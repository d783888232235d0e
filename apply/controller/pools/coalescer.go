package pools

import (
	"sync"
	"time"
)

// maxCoalesce bounds how long counts are coalesced while nodes do not come to rest.
const maxCoalesce = 30 * time.Second

// coalescer keeps the pools of which nothing but numbers has changed until nodes have
// been unchanged for StatusPeriod, or until maxCoalesce after the first such change of a
// pool. To report a number is a write, and while nodes join one after the other each of
// them would find some in its way.
type coalescer struct {
	release func(pool string)

	mu   sync.Mutex
	last time.Time            // when a number has changed last
	due  map[string]time.Time // by pool, when it is released at the latest
}

func newCoalescer(release func(pool string)) *coalescer {
	return &coalescer{release: release, due: map[string]time.Time{}}
}

// add adds a pool of which a number has changed.
func (c *coalescer) add(pool string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	if _, waits := c.due[pool]; waits {
		return
	}
	if len(c.due) == 0 { // else the timer runs
		time.AfterFunc(StatusPeriod, c.releaseDue)
	}
	c.due[pool] = c.last.Add(maxCoalesce)
}

// releaseDue releases the pools for which it is time, and starts the timer for the
// others.
func (c *coalescer) releaseDue() {
	for _, pool := range c.take() {
		c.release(pool)
	}
}

func (c *coalescer) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, next := time.Now(), c.last.Add(StatusPeriod)
	atRest := !now.Before(next)
	var taken []string
	for pool, due := range c.due {
		if atRest || !now.Before(due) {
			taken = append(taken, pool)
			delete(c.due, pool)
		} else if due.Before(next) {
			next = due
		}
	}
	if len(c.due) > 0 {
		time.AfterFunc(next.Sub(now), c.releaseDue)
	}
	return taken
}
