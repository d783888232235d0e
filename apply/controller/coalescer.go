package controller

import (
	"sync"
	"time"
)

// maxGathering bounds how long counts are gathered while nodes do not come to rest.
const maxGathering = 30 * time.Second

// coalescer keeps the pools of which nothing but counts has changed until nodes have
// been at rest for statusPeriod, or until maxGathering after the first such change of
// a pool. To tell a count is a write, and while nodes join one after the other each of
// them would find some in its way.
type coalescer struct {
	tell func(pool string)

	mu   sync.Mutex
	last time.Time            // when a count has changed last
	due  map[string]time.Time // by pool, when it is told at the latest
}

func newCoalescer(tell func(pool string)) *coalescer {
	return &coalescer{tell: tell, due: map[string]time.Time{}}
}

// add notes that a count of a pool has changed.
func (c *coalescer) add(pool string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	if _, waits := c.due[pool]; waits {
		return
	}
	if len(c.due) == 0 { // else a look is to come
		time.AfterFunc(statusPeriod, c.look)
	}
	c.due[pool] = c.last.Add(maxGathering)
}

// look tells the pools for which it is time, and looks again when it will be for the
// others.
func (c *coalescer) look() {
	for _, pool := range c.take() {
		c.tell(pool)
	}
}

func (c *coalescer) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, next := time.Now(), c.last.Add(statusPeriod)
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
		time.AfterFunc(next.Sub(now), c.look)
	}
	return taken
}
