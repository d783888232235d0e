package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// server is an API server behind a gate.
type server struct {
	away    atomic.Bool
	version atomic.Pointer[string]
	// read is called before the body of a write is read, and writes counts those that came.
	read   func()
	writes atomic.Int32
}

func (s *server) at(version string) { s.version.Store(&version) }

// RoundTrip implements [http.RoundTripper].
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.away.Load() {
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}
	if request.Body != nil {
		if s.read != nil {
			s.read()
		}
		if _, err := io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		s.writes.Add(1)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// gated returns a gate before a server, and what it ends for.
func gated(s *server, leased bool) (*gate, chan error, *atomic.Int32) {
	ended, said := make(chan error, 1), &atomic.Int32{}
	s.at("10")
	return &gate{
		leased: leased, doubts: 1, verifying: make(chan struct{}, 1), seen: func() string { return "" },
		store: func(context.Context) (string, error) {
			if s.away.Load() {
				return "", errors.New("refused")
			}
			return *s.version.Load(), nil
		},
		end: func(cause error) { ended <- cause }, away: func(error) { said.Add(1) }, back: func(time.Duration) { said.Add(1) },
	}, ended, said
}

// send writes by a gate, in the background.
func send(ctx context.Context, g *gate, s *server) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, "https://server/nodes/n", strings.NewReader("{}"))
	if err != nil {
		panic(err)
	}
	go func() { _, _ = transport{g, s}.RoundTrip(request) }() //nolint:bodyclose // it has none
}

// wantWrites waits for a time and compares how many writes have come.
func (s *server) wantWrites(t *testing.T, after time.Duration, want int32, why string) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := s.writes.Load(); got != want {
		t.Errorf("%s: %d writes have come, want %d", why, got, want)
	}
}

// Nothing is written without a lease that was renewed in time, not even by a request that is
// on its way when the process is suspended. One that another instance holds ends the process.
func TestWritesWaitForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		g, ended, _ := gated(s, true)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		send(ctx, g, s)
		s.wantWrites(t, time.Minute, 0, "no lease")
		g.leaseRead("me", "me")
		s.wantWrites(t, time.Minute, 0, "a lease that is read, not renewed")
		g.leaseRenewed(moment{time.Now()})
		s.wantWrites(t, time.Second, 1, "the lease is renewed")
		s.read = func() { time.Sleep(renewDeadline) }
		send(ctx, g, s)
		s.wantWrites(t, time.Minute, 1, "suspended between the connection and the body")
		g.leaseRenewed(moment{time.Now()})
		s.wantWrites(t, time.Second, 2, "renewed again")
		g.leaseRead("other", "me")
		if cause := <-ended; !errors.Is(cause, errLeaseLost) {
			t.Errorf("ended by %v, want %v", cause, errLeaseLost)
		}
		send(ctx, g, s)
		s.wantWrites(t, time.Minute, 2, "another instance holds the lease")
		if g.leaseRenewed(moment{}) {
			t.Error("a lease that is lost is given back")
		}
	})
}

// The store is asked after each doubt before anything is written. One that is at an earlier
// version ends the process, by what the store has said as by what the cache has read.
func TestWritesWaitForTheHistory(t *testing.T) {
	for why, seen := range map[string]string{"the store was further": "", "the cache was further": "20"} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				g, ended, _ := gated(s, false)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				send(ctx, g, s)
				s.wantWrites(t, time.Second, 1, "the history is known")
				if g.seen = func() string { return seen }; seen == "" {
					s.at("9")
				} else {
					s.at("19")
				}
				g.doubt()
				send(ctx, g, s)
				if cause := <-ended; !errors.Is(cause, errFell) {
					t.Errorf("ended by %v, want %v", cause, errFell)
				}
				s.wantWrites(t, time.Minute, 1, "the history fell")
			})
		})
	}
}

// A store that falls at rest is noticed without a doubt.
func TestARestoredStoreIsNoticedAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		g, ended, _ := gated(s, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go g.run(ctx)
		time.Sleep(verifyPeriod + time.Second)
		s.at("9")
		if cause := <-ended; !errors.Is(cause, errFell) {
			t.Errorf("ended by %v, want %v", cause, errFell)
		}
	})
}

// Requests wait while the API server is away, and one line says so, and one that it is back.
// When the process is to stop they end.
func TestRequestsWaitForTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		g, _, said := gated(s, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.away.Store(true)
		for range 20 {
			send(ctx, g, s)
		}
		s.wantWrites(t, time.Hour, 0, "away")
		s.away.Store(false)
		s.wantWrites(t, 2*time.Second, 20, "back")
		if got := said.Load(); got != 2 {
			t.Errorf("%d lines, want 2", got)
		}
		s.away.Store(true)
		g.doubt()
		send(ctx, g, s)
		s.wantWrites(t, time.Hour, 20, "away again")
		cancel()
		synctest.Wait() // or else the bubble ends with a goroutine that waits
	})
}
