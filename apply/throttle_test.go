package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nodepools/nodepools/apply/plan"
)

// slowServer takes a second for each write, half of that for the one that has the
// name of the first, and answers as it is configured.
type slowServer struct {
	mu             sync.Mutex
	answer         func(name string) error
	inFlight, most int
	began          []string
	when           []time.Duration // since start
	start          time.Time
}

func newSlowServer() *slowServer {
	return &slowServer{start: time.Now(), answer: func(string) error { return nil }}
}

func (s *slowServer) PatchNode(ctx context.Context, name string, _ plan.Patch) error {
	s.mu.Lock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.began = append(s.began, name)
	s.when = append(s.when, time.Since(s.start))
	answer := s.answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	takes := time.Second
	if name == "0" {
		takes = time.Second / 2
	}
	select {
	case <-time.After(takes):
		return answer(name)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mostFrom forgets how many writes were in flight at most until now.
func (s *slowServer) mostFrom() (before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.most = s.most, s.inFlight
	return before
}

func (s *slowServer) answers(answer func(name string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func always(err error) func(string) error { return func(string) error { return err } }

// writes sends so many writes at once, and returns how many failed.
func writes(ctx context.Context, t *Throttle, n int) (failed int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		all.Go(func() {
			if err := t.PatchNode(ctx, fmt.Sprint(i), plan.Patch{}); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed++
			}
		})
		synctest.Wait() // they come in this order
	}
	all.Wait()
	return failed
}

var nodes = schema.GroupResource{Resource: "nodes"}

func TestThrottleHoldsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newSlowServer()
		throttle := NewThrottle(server, 8)
		if failed := writes(t.Context(), throttle, 100); failed > 0 || len(server.began) != 100 {
			t.Errorf("%d writes failed, %d were sent, want 100", failed, len(server.began))
		}
		if server.most != 8 {
			t.Errorf("%d writes were in flight at once, want 8", server.most)
		}
	})
}

func TestThrottleKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newSlowServer()
		writes(t.Context(), NewThrottle(server, 1), 20)
		for i, name := range server.began {
			if name != fmt.Sprint(i) {
				t.Fatalf("write %s began as number %d", name, i)
			}
		}
	})
}

func TestThrottleIsHalvedByPushBack(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		limit  int
	}{
		"too many requests":   {"that is the API server's own word for it", apierrors.NewTooManyRequests("busy", 1), 4},
		"no time named":       {"it is a push-back without that, too", apierrors.NewTooManyRequests("busy", 0), 4},
		"unavailable, later":  {"it says when to retry", retryAfter(503), 4},
		"gateway timeout":     {"it did not finish in time", apierrors.NewTimeoutError("late", 0), 4},
		"server timeout":      {"it asks for another try", apierrors.NewServerTimeout(nodes, "patch", 0), 4},
		"no answer in time":   {"the connection may be fine, the server is not", context.DeadlineExceeded, 4},
		"conflict":            {"it has answered, and as fast as ever", apierrors.NewConflict(nodes, "a", errors.New("x")), 8},
		"gone":                {"that is an answer as well", apierrors.NewNotFound(nodes, "a"), 8},
		"forbidden":           {"that is an answer as well", apierrors.NewForbidden(nodes, "a", errors.New("x")), 8},
		"internal error":      {"fewer writes would not mend it", apierrors.NewInternalError(errors.New("x")), 8},
		"connection lost":     {"fewer writes would not mend it", errors.New("connection refused"), 8},
		"the caller gives up": {"that says nothing of the server", context.Canceled, 8},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newSlowServer()
				server.answers(always(fmt.Errorf("write node: %w", c.err)))
				throttle := NewThrottle(server, 8)
				writes(t.Context(), throttle, 8)
				if throttle.limit != c.limit {
					t.Errorf("the limit is %d after 8 such answers at once, want %d: %s", throttle.limit, c.limit, c.reason)
				}
			})
		})
	}
}

// retryAfter is an answer with that header, as the client reads it.
func retryAfter(code int) error {
	return apierrors.NewGenericServerResponse(code, "patch", nodes, "a", "busy", 1, true)
}

func TestThrottleRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newSlowServer()
		throttle := NewThrottle(server, 8)
		server.answers(always(apierrors.NewTooManyRequests("busy", 1)))
		for range 10 {
			writes(t.Context(), throttle, 8)
		}
		if throttle.limit != 1 {
			t.Fatalf("the limit is %d, want 1", throttle.limit)
		}
		server.answers(always(nil))
		server.mostFrom()
		for limit := 1; limit < 8; limit++ {
			if throttle.limit != limit {
				t.Fatalf("the limit is %d, want %d", throttle.limit, limit)
			}
			writes(t.Context(), throttle, limit)
			if most := server.mostFrom(); most > limit {
				t.Errorf("%d writes were in flight with a limit of %d", most, limit)
			}
		}
		if failed := writes(t.Context(), throttle, 100); failed > 0 || throttle.limit != 8 {
			t.Errorf("%d failed, the limit is %d, want 0 and 8", failed, throttle.limit)
		}
		if most := server.mostFrom(); most != 8 {
			t.Errorf("%d writes were in flight at once, want 8", most)
		}
	})
}

func TestThrottleWaitsAsLongAsItIsAsked(t *testing.T) {
	cases := map[string]struct {
		reason             string
		suggested, resumes time.Duration
	}{
		"a while": {"it is what the API server asks for", 4 * time.Second, 4 * time.Second},
		"an hour": {"a webhook says so of one node, and all others would wait", time.Hour, maxDelay},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newSlowServer()
				throttle := NewThrottle(server, 4)
				server.answers(func(name string) error {
					if name == "0" {
						return apierrors.NewTooManyRequests("busy", int(c.suggested.Seconds()))
					}
					return nil
				})
				if failed := writes(t.Context(), throttle, 20); failed != 1 {
					t.Errorf("%d writes failed, want 1", failed)
				}
				// Four begin at once. What the other three are answered after the first
				// was refused does not shorten the wait.
				if want := time.Second/2 + c.resumes; server.when[4] != want {
					t.Errorf("the next write began after %s, want %s: %s", server.when[4], want, c.reason)
				}
			})
		})
	}
}

func TestThrottleLetsGoOfWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newSlowServer()
		throttle := NewThrottle(server, 2)
		server.answers(always(apierrors.NewTooManyRequests("busy", 20)))
		writes(t.Context(), throttle, 2)
		server.answers(always(nil))

		// Those who wait for the end of the hold, and give up before.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if failed := writes(ctx, throttle, 10); failed != 10 || time.Since(began) != time.Second {
			t.Errorf("%d failed after %s, want 10 after 1s", failed, time.Since(began))
		}
		if len(server.began) != 2 || len(throttle.waiting) != 0 {
			t.Errorf("%d writes were sent, %d wait, want 2 and 0", len(server.began), len(throttle.waiting))
		}

		// Those who give up while they are in flight leave their place to others.
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		writes(ctx, throttle, 1)
		if failed := writes(t.Context(), throttle, 10); failed != 0 || throttle.inFlight != 0 {
			t.Errorf("%d failed, %d are in flight, want none", failed, throttle.inFlight)
		}
	})
}

// Whatever the API server answers, and whoever gives up, every write ends, and
// the limit stays between one and the most.
func TestThrottleNeverSticks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 5
		server := newSlowServer()
		throttle := NewThrottle(server, most)
		answers := []error{
			nil, nil, nil, apierrors.NewTooManyRequests("busy", 3), apierrors.NewTooManyRequests("busy", 0),
			apierrors.NewNotFound(nodes, "a"), retryAfter(503), errors.New("connection refused"),
		}
		turn := 0
		server.answers(func(string) error {
			server.mu.Lock()
			defer server.mu.Unlock()
			turn++
			return answers[turn*7%len(answers)]
		})
		var all sync.WaitGroup
		for worker := range 12 {
			all.Go(func() {
				for i := range 40 {
					ctx, cancel := t.Context(), func() {}
					if (worker+i)%5 == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(i%7)*500*time.Millisecond)
					}
					_ = throttle.PatchNode(ctx, "a", plan.Patch{})
					cancel()
				}
			})
		}
		all.Wait()
		if throttle.inFlight != 0 || len(throttle.waiting) != 0 {
			t.Errorf("%d writes are in flight, %d wait, want none", throttle.inFlight, len(throttle.waiting))
		}
		if throttle.limit < 1 || throttle.limit > most || server.most > most {
			t.Errorf("the limit is %d, at most %d were in flight, want 1 to %d", throttle.limit, server.most, most)
		}
	})
}
