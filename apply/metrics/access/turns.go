package access

import (
	"context"
	"net"
	"sync"
)

// turns lets one at a time of each name go on. The zero value is ready. It remembers those
// that wait or are under way, and nobody else.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

// turn is whose turn it is.
type turn struct {
	free chan struct{} // has room while nobody is under way
	// count is of those that wait or are under way.
	count int
}

// take waits for a turn, which lasts until the returned function is called.
func (t *turns) take(ctx context.Context, name string) (end func(), err error) {
	t.mu.Lock()
	if t.of == nil {
		t.of = map[string]*turn{}
	}
	mine := t.of[name]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		t.of[name] = mine
	}
	mine.count++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.count--; mine.count == 0 {
			delete(t.of, name)
		}
	}
	select {
	case mine.free <- struct{}{}:
		return func() { <-mine.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// hostOf returns the host of an address of a connection.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
