package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A revision is many pools, and the API server takes them one after the other. A
// node that was written for one of them and not yet for the next could end up with
// what neither the old revision nor the new one says: of two pools that disagree
// at the same priority, the first would have its way. So while a revision is being
// written, and until the cache has it, the loops wait with what they do for pools.

// maxHold bounds how long nodes wait for a revision. Then they get what there is:
// an API server that takes longer has other troubles.
const maxHold = 10 * time.Second

// held is a revision that is being written. It is over when it is closed, by the
// timer at the latest.
type held struct {
	revision string
	over     chan struct{}
	close    func()
	timer    *time.Timer
}

// hold makes the loops wait before they look at the pools, until the source is
// done with a revision or maxHold has passed. A source that holds them for the
// revision already gets no more time for it.
func (s *poolSet) hold(source, revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, holds := s.held[source]
	if holds && h.revision == revision {
		return
	}
	h.revision = revision
	if holds && h.timer.Stop() { // whoever waits for it waits for the one that follows it
		h.timer.Reset(maxHold)
		s.held[source] = h
		return
	}
	h.over = make(chan struct{})
	h.close = sync.OnceFunc(func() { close(h.over) })
	h.timer = time.AfterFunc(maxHold, h.close)
	s.held[source] = h
}

// holds tells whether the source has made the loops wait and is not done.
func (s *poolSet) holds(source string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, holds := s.held[source]
	return holds
}

// release tells that the source is done.
func (s *poolSet) release(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, holds := s.held[source]; holds {
		h.timer.Stop()
		h.close()
		delete(s.held, source)
	}
}

// resume makes the loops wait for the revisions that the process before this one
// has not finished. It does so once, before the first look at the pools and the
// first pass over a source.
func (s *poolSet) resume(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.resumed {
		return nil
	}
	var sources v1.NodePoolSourceList
	if err := s.cached.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list sources: %w", err)
	}
	for i := range sources.Items {
		if src := &sources.Items[i]; src.Status.ApplyingRevision != "" {
			s.hold(src.Name, src.Status.ApplyingRevision)
		}
	}
	s.resumed = true
	return nil
}

// whole waits until the revisions are written that are being written now. It does
// not wait for those that come after: sources that never rest must not keep nodes
// from what they have to get.
func (s *poolSet) whole(ctx context.Context) error {
	if err := s.resume(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	var waits []chan struct{}
	for _, h := range s.held {
		waits = append(waits, h.over)
	}
	s.mu.Unlock()
	for _, over := range waits {
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// cacheLag is how long a cache may take to see what was written; far longer than
// it takes.
const cacheLag = 2 * time.Second

// awaitCache waits until the cache has what was written, or cacheLag has passed.
func awaitCache(ctx context.Context, has func() (bool, error)) {
	ctx, cancel := context.WithTimeout(ctx, cacheLag)
	defer cancel()
	for {
		if seen, err := has(); err != nil || seen {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
