package controller

import (
	"sync"
	"time"
)

// maxGathering bounds how long counts are gathered while nodes do not come to rest.
const maxGathering = 30 * time.Second

// gathering keeps the pools of which nothing but counts has changed until nodes have
// been at rest for statusPeriod, or until maxGathering after the first such change of
// a pool. To tell a count is a write, and while nodes join one after the other each of
// them would find some in its way.
type gathering struct {
	tell func(pool string)

	mu   sync.Mutex
	last time.Time            // when a count has changed last
	due  map[string]time.Time // by pool, when it is told at the latest
}

func newGathering(tell func(pool string)) *gathering {
	return &gathering{tell: tell, due: map[string]time.Time{}}
}

// add notes that a count of a pool has changed.
func (g *gathering) add(pool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = time.Now()
	if _, waits := g.due[pool]; waits {
		return
	}
	if len(g.due) == 0 { // else a look is to come
		time.AfterFunc(statusPeriod, g.look)
	}
	g.due[pool] = g.last.Add(maxGathering)
}

// look tells the pools for which it is time, and looks again when it will be for the
// others.
func (g *gathering) look() {
	for _, pool := range g.take() {
		g.tell(pool)
	}
}

func (g *gathering) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, next := time.Now(), g.last.Add(statusPeriod)
	atRest := !now.Before(next)
	var taken []string
	for pool, due := range g.due {
		if atRest || !now.Before(due) {
			taken = append(taken, pool)
			delete(g.due, pool)
		} else if due.Before(next) {
			next = due
		}
	}
	if len(g.due) > 0 {
		time.AfterFunc(next.Sub(now), g.look)
	}
	return taken
}
