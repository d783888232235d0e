package fleet

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/nodepools/nodepools/apply/controller/loop"
)

// Change is what has changed about a pool. Several changes are combined by |.
type Change uint8

const (
	// Definition is that the pool has become another one, by what it says or by its deletion.
	Definition Change = 1 << iota
	// Held is that what it says is accepted, or waits for that, as it did not before.
	Held
	// Settled is that passes over all nodes have ended that [Fleet.Await] was asked about.
	Settled
	// News is that something has happened on its nodes that people have to know of, or that
	// the pool waits for.
	News
	// Numbers is that its counts have changed, and nothing else.
	Numbers
	// Elsewhere is that the waves of another pool are further, which the pool waits for.
	Elsewhere
)

// Changes are what has changed, by the name of the pool.
type Changes map[string]Change

// stream has the changes that its one reader has not taken yet. What waits is coalesced
// by pool: who publishes never waits, and a slow reader costs no memory.
type stream struct {
	kinds Change
	// ready has an element when there are changes to take.
	ready chan struct{}

	mu      sync.Mutex
	pending Changes
}

func newStream(kinds Change) *stream {
	return &stream{kinds: kinds, ready: make(chan struct{}, 1), pending: Changes{}}
}

func (s *stream) add(pool string, change Change) {
	if change &= s.kinds; change == 0 {
		return
	}
	s.mu.Lock()
	s.pending[pool] |= change
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *stream) take() Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.pending
	s.pending = Changes{}
	return taken
}

// publisher leads changes to all streams.
type publisher struct {
	mu      sync.Mutex
	streams []*stream
}

func (p *publisher) publish(pool string, change Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams {
		s.add(pool, change)
	}
}

func (p *publisher) subscribe(kinds Change) *stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := newStream(kinds)
	p.streams = append(p.streams, s)
	return s
}

// Deliver puts into the queue of a controller what changes lead to. After an error it
// is called again, for the same changes and those that have followed.
type Deliver func(ctx context.Context, changes Changes, queue loop.Queue) error

// Requests is a source of requests for a controller: of changes of these kinds. They
// are delivered one call at a time, from the start of the controller to its end; those
// that follow within the period are delivered together. The controller waits with its
// passes until every pool is in the cache.
func (f *Fleet) Requests(kinds Change, period time.Duration, deliver Deliver) source.SyncingSource {
	return &requests{fleet: f, stream: f.changes.subscribe(kinds), period: period, deliver: deliver}
}

type requests struct {
	fleet   *Fleet
	stream  *stream
	period  time.Duration
	deliver Deliver
}

// Start implements [source.Source].
func (r *requests) Start(ctx context.Context, queue loop.Queue) error {
	if err := r.fleet.start(ctx, queue); err != nil {
		return err
	}
	go func() {
		for r.wait(ctx) {
			changes := r.stream.take()
			if err := r.deliver(ctx, changes, queue); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "changes of pools are not followed yet")
				time.AfterFunc(loop.RetryPeriod, func() {
					for pool, change := range changes {
						r.stream.add(pool, change)
					}
				})
			}
		}
	}()
	return nil
}

// wait waits for a change, and then for others. It reports whether there may be some,
// and not the end of the context.
func (r *requests) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.stream.ready:
	}
	if r.period == 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(r.period):
		return true
	}
}

// WaitForSync implements [source.SyncingSource].
func (r *requests) WaitForSync(ctx context.Context) error {
	if err := r.fleet.watchingSources.WaitForSync(ctx); err != nil {
		return err
	}
	return r.fleet.watching.WaitForSync(ctx)
}
