package token

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodepools/nodepools/source"
)

// A Cache keeps tokens in memory, and asks for new ones five minutes before they expire.
// Whoever asks for the same token at the same time shares one request. Make one with
// [NewCache]; its methods may be called at the same time.
type Cache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[key]*entry
}

// key is an identity, and how its issuer is reached: what goes wrong on one way must not
// concern those who take another.
type key struct {
	identity Identity
	route    string
}

type entry struct {
	token *Token
	// refused is when a token was given up that a server of Git did not take.
	refused time.Time
	// err is the answer until retry, for an issuer that has asked for time.
	err   error
	retry time.Time
	// request is what is under way; nil for nothing.
	request *request
}

// request is one to an issuer, and those who wait for it.
type request struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	token   *Token
	err     error
}

// NewCache returns an empty cache with a clock; nil means time.Now.
func NewCache(now func() time.Time) *Cache {
	if now == nil {
		now = time.Now
	}
	return &Cache{now: now, entries: map[key]*entry{}}
}

// Token returns a token of an issuer that is reached by a route: a name for the proxy and
// whatever else send depends on.
//
// While a token is valid it is returned, though its renewal fails. An issuer that asks
// for time is not asked before that has passed.
func (c *Cache) Token(ctx context.Context, issuer Issuer, route string, send Send) (*Token, error) {
	c.mu.Lock()
	now, at := c.now(), key{issuer.Identity(), route}
	c.sweep(now)
	e := c.entries[at]
	switch {
	case e == nil:
		e = &entry{}
		c.entries[at] = e
	case e.token.fresh(now):
		defer c.mu.Unlock()
		return e.token, nil
	case now.Before(e.retry):
		defer c.mu.Unlock()
		return e.answer(now)
	}
	if e.request == nil {
		c.start(ctx, e, issuer, send)
	}
	r := e.request
	r.waiting++
	c.mu.Unlock()

	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		c.leave(e, r)
		kind := source.ErrCanceled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = source.ErrTimeout
		}
		return nil, source.NewError(kind, "", "interrupted while a token was asked for").WithCause(ctx.Err())
	}
}

// Refuse is called with a token that a server of Git did not take. It is not returned
// again, and Refuse reports whether that is so: one that was issued in place of a refused
// one stays for a minute.
func (c *Cache) Refuse(token *Token) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.token == token {
			if !token.replaceable(c.now()) {
				return false
			}
			e.token, e.refused = nil, c.now()
		}
	}
	return true
}

// Len is how many issuers there is something of in memory.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// start asks the issuer. The request belongs to all who wait for it, and ends when
// nobody does.
func (c *Cache) start(ctx context.Context, e *entry, issuer Issuer, send Send) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &request{done: make(chan struct{}), cancel: cancel}
	e.request = r
	go func() {
		defer cancel()
		token, err := issuer.Issue(ctx, send, c.now())
		c.mu.Lock()
		defer c.mu.Unlock()
		defer close(r.done)
		if e.request == r { // else all have left, and another may be under way
			e.request = nil
			e.took(token, err, c.now())
			token, err = e.answer(c.now())
		}
		r.token, r.err = token, err
	}()
}

// took takes the result of a request.
func (e *entry) took(token *Token, err error, now time.Time) {
	e.err, e.retry = err, time.Time{}
	if busy := (*busyError)(nil); errors.As(err, &busy) {
		e.retry = now.Add(wait(busy.after))
	}
	if err == nil {
		token.replacement = e.unsettled(now)
		e.token = token
	}
}

// unsettled reports whether a token was refused not long ago.
func (e *entry) unsettled(now time.Time) bool { return now.Before(e.refused.Add(settled)) }

// answer is what callers get when there is no fresh token, or one that was issued just
// now.
func (e *entry) answer(now time.Time) (*Token, error) {
	if e.err == nil || e.token.valid(now) {
		return e.token, nil
	}
	return nil, e.err
}

// leave is for who does not wait any longer.
func (c *Cache) leave(e *entry, r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if e.request == r {
			e.request = nil
		}
	}
}

// sweep drops what nobody can use any more, so that a Secret that is changed often, or
// a source that is gone, leaves nothing for long.
func (c *Cache) sweep(now time.Time) {
	for at, e := range c.entries {
		if e.request == nil && !e.token.valid(now) && !now.Before(e.retry) && !e.unsettled(now) {
			delete(c.entries, at)
		}
	}
}

// busyError is an issuer that asks for time.
type busyError struct {
	err   *source.Error
	after time.Duration
}

func (b *busyError) Error() string { return b.err.Error() }
func (b *busyError) Hint() string  { return b.err.Hint() }
func (b *busyError) Unwrap() error { return b.err }
