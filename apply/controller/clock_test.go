package controller

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nodepools/nodepools/apply/controller/loop"
)

// movedClock is a clock that stands still until the test moves it. Whoever waits by it goes
// on when it is moved so far, and also when the time has passed for the machine: short
// waits are for caches and other requests, and decide nothing while the clock stands.
type movedClock struct {
	mu  sync.Mutex
	now time.Time
	// turns is what the loop waits for that gives turns, the only one to call After: by
	// turns, until something may be due, and for a rest. It is nil during the rest.
	turns *moment
	// queues wait for requests.
	queues []*movedQueue
}

// moment is one for which somebody waits.
type moment struct {
	at   time.Time
	wait time.Duration
	ch   chan time.Time
}

// shortWait is what is waited for by the time of the machine.
const shortWait = time.Second

// restPeriod is the rest between two decisions whose turn it is.
const restPeriod = 5 * time.Millisecond

func newMovedClock(now time.Time) *movedClock { return &movedClock{now: now} }

// clock is what reconcilers go by.
func (c *movedClock) clock() loop.Clock {
	return loop.Clock{Now: c.Now, After: c.After, NewQueue: c.newQueue}
}

func (c *movedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *movedClock) After(wait time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns != nil {
		c.turns = nil
		return time.After(restPeriod)
	}
	m := &moment{at: c.now.Add(wait), wait: wait, ch: make(chan time.Time, 1)}
	c.turns = m
	if wait < shortWait {
		return time.After(wait)
	}
	return m.ch
}

// moveTo moves the clock.
func (c *movedClock) moveTo(now time.Time) {
	c.mu.Lock()
	c.now = now
	if c.turns != nil && !c.turns.at.After(now) && c.turns.wait >= shortWait {
		c.turns.ch <- now
		c.turns.at = now.Add(1000 * time.Hour) // it is not sent again; the loop goes on to its rest
		c.turns.wait = 0
	}
	queues := c.queues
	c.mu.Unlock()
	for _, queue := range queues {
		queue.wake(now)
	}
}

// nextTurns is when it is due to decide whose turn it is, though nothing happens; zero where
// that may be for no other reason than that the longest wait is over.
func (c *movedClock) nextTurns() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil || c.turns.wait < shortWait || c.turns.wait == loop.Bounded(0) {
		return time.Time{}
	}
	return c.turns.at
}

// nextRequest is when the next request comes that waits for no more than a minute; zero
// where there is none.
func (c *movedClock) nextRequest() (next time.Time) {
	c.mu.Lock()
	now, queues := c.now, c.queues
	c.mu.Unlock()
	for _, q := range queues {
		q.mu.Lock()
		for _, at := range q.later {
			if q.awaited && at.After(now) && !at.After(now.Add(time.Minute)) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		q.mu.Unlock()
	}
	return next
}

// due is what is due by the clock; empty where nothing is.
func (c *movedClock) due() string {
	c.mu.Lock()
	turns := c.turns != nil && c.turns.wait >= shortWait
	queues := c.queues
	c.mu.Unlock()
	if !turns {
		return "to decide whose turn it is"
	}
	for _, queue := range queues {
		if requests := queue.busy(); len(requests) > 0 {
			return fmt.Sprintf("passes over %v", requests)
		}
	}
	return ""
}

// movedQueue is a queue of controller-runtime whose requests come when the clock is moved.
type movedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock *movedClock
	// awaited reports that nothing else happens as long as there are requests.
	awaited bool

	mu sync.Mutex
	// later are the requests that wait for a time, due are those that do not.
	later      map[reconcile.Request]time.Time
	due        map[reconcile.Request]bool
	processing map[reconcile.Request]bool
	// added is how often each request came at once.
	added map[reconcile.Request]int
}

func (c *movedClock) newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) loop.Queue {
	q := &movedQueue{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		clock:         c, awaited: name != "pool", later: map[reconcile.Request]time.Time{},
		due: map[reconcile.Request]bool{}, processing: map[reconcile.Request]bool{}, added: map[reconcile.Request]int{},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues = append(c.queues, q)
	return q
}

func (q *movedQueue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

func (q *movedQueue) AddAfter(request reconcile.Request, wait time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: wait}, request)
}

func (q *movedQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts does as queues of controller-runtime do: what is added at once no longer
// waits, and what waits already comes at the earlier time.
func (q *movedQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	now := q.clock.Now()
	q.mu.Lock()
	for _, request := range requests {
		if o.After >= shortWait {
			if at, waits := q.later[request]; !waits || now.Add(o.After).Before(at) {
				q.later[request] = now.Add(o.After)
			}
			continue
		}
		delete(q.later, request)
		q.due[request] = true
		q.added[request]++
	}
	q.mu.Unlock()
	q.PriorityQueue.AddWithOpts(o, requests...)
}

func (q *movedQueue) Get() (reconcile.Request, bool) {
	request, _, shutdown := q.GetWithPriority()
	return request, shutdown
}

func (q *movedQueue) GetWithPriority() (reconcile.Request, int, bool) {
	request, priority, shutdown := q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.later, request)
	delete(q.due, request)
	q.processing[request] = !shutdown
	return request, priority, shutdown
}

func (q *movedQueue) Done(request reconcile.Request) {
	q.mu.Lock()
	delete(q.processing, request)
	q.mu.Unlock()
	q.PriorityQueue.Done(request)
}

// wake adds the requests whose time has come.
func (q *movedQueue) wake(now time.Time) {
	q.mu.Lock()
	var due []reconcile.Request
	for request, at := range q.later {
		if !at.After(now) {
			due = append(due, request)
		}
	}
	q.mu.Unlock()
	q.AddWithOpts(priorityqueue.AddOpts{}, due...)
}

// busy are the requests that are due or served.
func (q *movedQueue) busy() []reconcile.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.awaited {
		return nil
	}
	return slices.AppendSeq(slices.Collect(maps.Keys(q.due)), maps.Keys(q.processing))
}

// passesOf is how often a request came at once.
func (c *movedClock) passesOf(node string) (passes int) {
	c.mu.Lock()
	queues := c.queues
	c.mu.Unlock()
	for _, q := range queues {
		q.mu.Lock()
		passes += q.added[loop.RequestFor(node)]
		q.mu.Unlock()
	}
	return passes
}
