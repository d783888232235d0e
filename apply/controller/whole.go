package controller

import (
	"context"
	"sync"
	"time"
)

// A revision is many pools, and the API server takes them one after the other. A
// node that was written for one of them and not yet for the next could end up with
// what neither the old revision nor the new one says: of two pools that disagree
// at the same priority, the first would have its way. So while a revision is being
// written, and until the cache has it, the loops wait with what they do for pools.

// maxHold bounds how long nodes wait for a revision. Then they get what there is:
// an API server that takes longer has other troubles.
const maxHold = 10 * time.Second

// hold makes the loops wait before they look at the pools, until the returned
// function is called or maxHold has passed.
func (s *poolSet) hold() (release func()) {
	held := make(chan struct{})
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	end := sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held == held {
			s.held = nil
		}
		close(held)
	})
	timer := time.AfterFunc(maxHold, end)
	return func() {
		timer.Stop()
		end()
	}
}

// whole waits until no revision is being written.
func (s *poolSet) whole(ctx context.Context) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
