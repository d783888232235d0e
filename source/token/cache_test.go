package token

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/leaks"
)

// counted issues tokens that last for an hour, and counts how often it is asked.
type counted struct {
	name  string
	clock *clock
	asked atomic.Int64
	issue func(ctx context.Context) error
}

func (s *counted) Identity() Identity { return identity(s.name) }

func (s *counted) Issue(ctx context.Context, _ Send, now time.Time) (*Token, error) {
	n := s.asked.Add(1)
	if s.issue != nil {
		if err := s.issue(ctx); err != nil {
			return nil, err
		}
	}
	return &Token{issued: now, expires: now.Add(time.Hour), set: func(r *http.Request) { r.Header.Set("Authorization", fmt.Sprint(n)) }}, nil
}

func get(t *testing.T, c *Cache, issuer Issuer) *Token {
	t.Helper()
	token, err := c.Token(t.Context(), issuer, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	clock := newClock()
	c, s := NewCache(clock.Now), &counted{clock: clock}
	first := get(t, c, s)
	clock.pass(55*time.Minute - time.Second)
	if get(t, c, s) != first || s.asked.Load() != 1 {
		t.Errorf("renewed too early, %d requests", s.asked.Load())
	}
	clock.pass(time.Second)
	second := get(t, c, s)
	if second == first || s.asked.Load() != 2 {
		t.Errorf("not renewed, %d requests", s.asked.Load())
	}
	// What is still valid is used while the issuer fails.
	clock.pass(57 * time.Minute)
	s.issue = func(context.Context) error { return unusable("h") }
	if get(t, c, s) != second || s.asked.Load() != 3 {
		t.Errorf("%d requests", s.asked.Load())
	}
	clock.pass(3 * time.Minute)
	if _, err := c.Token(t.Context(), s, "", nil); !errors.Is(err, source.ErrServer) {
		t.Errorf("with a token that has expired: %v", err)
	}
}

// Fifty callers share one request. Another identity and another way have their own.
func TestCallersShareARequest(t *testing.T) {
	clock, began, goOn := newClock(), make(chan struct{}, 50), make(chan struct{})
	c := NewCache(clock.Now)
	s := &counted{clock: clock, issue: func(context.Context) error { began <- struct{}{}; <-goOn; return nil }}
	var tokens sync.Map
	var ended sync.WaitGroup
	for range 50 {
		ended.Go(func() { tokens.Store(get(t, c, s), true) })
	}
	<-began
	for all := false; !all; { // they wait, or there is another request
		c.mu.Lock()
		for _, e := range c.entries {
			all = e.request.waiting == 50 || s.asked.Load() > 1
		}
		c.mu.Unlock()
	}
	other := &counted{name: "other", clock: clock}
	get(t, c, other)
	if _, err := c.Token(t.Context(), other, "another way", nil); err != nil || other.asked.Load() != 2 {
		t.Errorf("%d requests for another identity; %v", other.asked.Load(), err)
	}
	close(goOn)
	ended.Wait()
	distinct := 0
	tokens.Range(func(any, any) bool { distinct++; return true })
	if s.asked.Load() != 1 || distinct != 1 {
		t.Errorf("%d requests, %d tokens", s.asked.Load(), distinct)
	}
}

// A request is for all who wait: it ends when the last of them does not wait any more,
// and not before.
func TestARequestEndsWithItsCallers(t *testing.T) {
	before := leaks.Now(t)
	clock, began := newClock(), make(chan context.Context, 1)
	c := NewCache(clock.Now)
	s := &counted{clock: clock, issue: func(ctx context.Context) error {
		began <- ctx
		<-ctx.Done()
		return source.NewError(source.ErrCanceled, "", "interrupted")
	}}
	first, leave := context.WithCancel(t.Context())
	second, leaveToo := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, err := c.Token(first, s, "", nil); ended <- err }()
	request := <-began
	go func() { _, err := c.Token(second, s, "", nil); ended <- err }()
	for waiting := 0; waiting < 2; {
		c.mu.Lock()
		for _, e := range c.entries {
			waiting = e.request.waiting
		}
		c.mu.Unlock()
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, source.ErrCanceled) {
		t.Error(err)
	}
	if request.Err() != nil {
		t.Error("the request ended with the first of its two callers")
	}
	leaveToo()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-request.Done()
	// Who comes then does not get what was given up.
	s.issue = nil
	get(t, c, s)
	before.Check(t, 10*time.Second)
}

// A refused token is replaced, however new it is. What was issued in its place is given
// a minute, so that a server which refuses everything costs one request a minute.
func TestRefusedTokensAreReplacedOnce(t *testing.T) {
	clock := newClock()
	c, s := NewCache(clock.Now), &counted{clock: clock}
	first := get(t, c, s)
	if !c.Refuse(first) {
		t.Error("the first token is kept")
	}
	for range 59 {
		second := get(t, c, s)
		if second == first || s.asked.Load() != 2 || c.Refuse(second) {
			t.Fatalf("%d requests", s.asked.Load())
		}
		clock.pass(time.Second)
	}
	clock.pass(time.Second)
	if !c.Refuse(get(t, c, s)) {
		t.Error("after a minute the second one is kept")
	}
	third := get(t, c, s)
	if s.asked.Load() != 3 {
		t.Errorf("%d requests", s.asked.Load())
	}
	// Another one that is refused long after is a first one again.
	clock.pass(55 * time.Minute)
	fourth := get(t, c, s)
	if fourth == third || !c.Refuse(fourth) {
		t.Error("a token of its own is kept")
	}
	if c.Refuse(first); get(t, c, s) == first {
		t.Error("an old token came back")
	}
}

// An issuer that asks for time is left alone until then, by all.
func TestIssuersThatAskForTime(t *testing.T) {
	clock := newClock()
	c, s := NewCache(clock.Now), &counted{clock: clock}
	s.issue = func(context.Context) error {
		return &busyError{after: 30 * time.Second, err: refused("too many requests", "wait")}
	}
	for range 29 {
		_, err := c.Token(t.Context(), s, "", nil)
		if !errors.Is(err, source.ErrToken) || source.Hint(err) != "wait" {
			t.Fatal(err)
		}
		clock.pass(time.Second)
	}
	if s.asked.Load() != 1 {
		t.Errorf("%d requests", s.asked.Load())
	}
	clock.pass(time.Second)
	s.issue = nil
	get(t, c, s)
}

// Nothing is left for long of what is no longer used.
func TestCacheForgets(t *testing.T) {
	clock := newClock()
	c := NewCache(clock.Now)
	for i := range 100 {
		s := &counted{name: fmt.Sprint(i), clock: clock}
		if i%3 == 0 {
			s.issue = func(context.Context) error { return &busyError{after: time.Minute, err: refused("busy", "wait")} }
		}
		token, _ := c.Token(t.Context(), s, "", nil)
		if i%3 == 1 {
			c.Refuse(token)
		}
	}
	clock.pass(time.Hour)
	get(t, c, &counted{name: "last", clock: clock})
	if c.Len() != 1 {
		t.Errorf("%d are kept", c.Len())
	}
}

// An error does not stay: the next caller asks anew.
func TestErrorsAreNotKept(t *testing.T) {
	clock := newClock()
	c, s := NewCache(clock.Now), &counted{clock: clock, issue: func(context.Context) error { return unusable("h") }}
	for range 3 {
		if _, err := c.Token(t.Context(), s, "", nil); err == nil {
			t.Fatal("no error")
		}
	}
	if s.asked.Load() != 3 {
		t.Errorf("%d requests", s.asked.Load())
	}
}
