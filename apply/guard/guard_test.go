package guard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// store answers the probes of a guard, and records requests and callbacks.
type store struct {
	mu      sync.Mutex
	version string
	err     error
	probes  int
	sent    []string
	said    []string
	// while a request is being sent, with its connection there
	sending func()
}

func (s *store) newest(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes++
	return s.version, s.err
}

func (s *store) is(version string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.err = version, err
}

func (s *store) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

func (s *store) has() (sent, said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.sent, " "), strings.Join(s.said, " ")
}

// RoundTrip sends what is read from the body of a request.
func (s *store) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.sending != nil {
		s.sending()
	}
	if request.Body != nil {
		if _, err := io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, request.Method)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// run has a guard of a store run in a bubble.
func run(t *testing.T, leaseTime time.Duration, test func(s *store, g *Guard, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &store{version: "100"}
		g := New(Options{
			Witnesses: []Witness{{Resource: "pools", Version: s.newest}}, LeaseTime: leaseTime,
			Lost: func(error) { s.say("lost") }, Back: func(time.Duration) { s.say("back") }, Settled: func() {},
			End: func(cause error) {
				switch {
				case errors.Is(cause, ErrRewound):
					s.say("rewound")
				case errors.Is(cause, ErrLeaseLost):
					s.say("lease lost")
				}
			},
		})
		var running sync.WaitGroup
		running.Go(func() { g.Run(ctx) })
		running.Go(func() { g.Follow(ctx, func(string) string { return "100" }) })
		synctest.Wait()
		test(s, g, ctx)
		cancel()
		running.Wait()
	})
}

// send sends a request, in the background.
func send(ctx context.Context, s *store, g *Guard, method string) {
	body := io.Reader(nil)
	if method != http.MethodGet {
		body = strings.NewReader("{}")
	}
	request, _ := http.NewRequestWithContext(ctx, method, "http://x/", body)
	go func() {
		if _, err := g.Transport(s).RoundTrip(request); err != nil {
			s.say("failed")
		}
	}()
	synctest.Wait()
}

func expect(t *testing.T, s *store, when, wantSent, wantSaid string) {
	t.Helper()
	synctest.Wait()
	if sent, said := s.has(); sent != wantSent || said != wantSaid {
		t.Errorf("%s: sent %q and said %q, want %q and %q", when, sent, said, wantSent, wantSaid)
	}
}

func holder(name, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(name)}}
}

func TestWritesWaitForTheLease(t *testing.T) {
	run(t, 10*time.Second, func(s *store, g *Guard, ctx context.Context) {
		send(ctx, s, g, http.MethodGet)
		send(ctx, s, g, http.MethodPatch)
		expect(t, s, "not held yet", "GET", "")
		_ = g.learn(holder("me", "1"), read, "me", now(), "")
		expect(t, s, "to read it is not to renew it", "GET", "")
		_ = g.learn(holder("me", "2"), written, "me", now(), "1")
		expect(t, s, "held", "GET PATCH", "")
		time.Sleep(9 * time.Second)
		send(ctx, s, g, http.MethodPut)
		expect(t, s, "still held", "GET PATCH PUT", "")
		time.Sleep(time.Second)
		send(ctx, s, g, http.MethodDelete)
		expect(t, s, "no longer", "GET PATCH PUT", "")
		_ = g.learn(holder("me", "3"), written, "me", now(), "2")
		expect(t, s, "renewed", "GET PATCH PUT DELETE", "")
		_ = g.learn(holder("other", "4"), read, "me", now(), "3")
		send(ctx, s, g, http.MethodPatch)
		expect(t, s, "lost", "GET PATCH PUT DELETE", "lease lost")
		_ = g.learn(holder("me", "5"), written, "me", now(), "4")
		expect(t, s, "what was read before is not written", "GET PATCH PUT DELETE", "lease lost")
	})
}

// A process is suspended after the check and before the request is sent.
func TestWritesAreCheckedWhenTheyAreSent(t *testing.T) {
	run(t, 10*time.Second, func(s *store, g *Guard, ctx context.Context) {
		_ = g.learn(holder("me", "2"), written, "me", now(), "")
		s.sending = func() { time.Sleep(time.Minute) }
		send(ctx, s, g, http.MethodPatch)
		time.Sleep(2 * time.Minute)
		expect(t, s, "the lease has run out meanwhile", "", "")
	})
}

func TestWritesWaitForTheHistory(t *testing.T) {
	cases := map[string]struct {
		reason             string
		version            string
		seen               string
		wantSent, wantSaid string
	}{
		"same":              {"a connection was made, and nothing has happened", "100", "100", "PATCH", ""},
		"later":             {"others write", "1000", "100", "PATCH", ""},
		"caches are behind": {"that is no other history", "100", "90", "PATCH", ""},
		"earlier":           {"restored from a backup", "99", "100", "", "rewound"},
		"shorter":           {"versions are numbers", "99", "100", "", "rewound"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, 0, func(s *store, g *Guard, ctx context.Context) {
				s.is(c.version, nil)
				g.sample(func(string) string { return c.seen })
				g.Doubt()
				send(ctx, s, g, http.MethodPatch)
				expect(t, s, c.reason, c.wantSent, c.wantSaid)
			})
		})
	}
}

// Versions of an earlier history are remembered when the caches have read the new one.
func TestCachesThatGoBackAreNoticed(t *testing.T) {
	run(t, 0, func(s *store, g *Guard, ctx context.Context) {
		s.is("50", nil)
		g.sample(func(string) string { return "50" })
		send(ctx, s, g, http.MethodPatch)
		expect(t, s, "no connection was lost", "", "rewound")
	})
}

// While others write, the version of a cache in which nothing changes stays below that of
// the store. To read the store each second for that would stop all writes each time.
func TestCachesAtRestAreNoDoubt(t *testing.T) {
	run(t, 0, func(s *store, g *Guard, _ context.Context) {
		s.is("200", nil)
		g.Doubt() // a connection was made
		synctest.Wait()
		before := s.probes
		time.Sleep(verifyPeriod / 2)
		synctest.Wait()
		if more := s.probes - before; more > 0 {
			t.Errorf("the store was read %d more times in %s", more, verifyPeriod/2)
		}
	})
}

// A store is restored under an API server that goes on: no connection is lost, no watch
// ends, the caches read nothing, and there is no lease whose renewal would show it.
func TestARestoredStoreIsNoticedAtRest(t *testing.T) {
	run(t, 0, func(s *store, g *Guard, ctx context.Context) {
		send(ctx, s, g, http.MethodPatch)
		s.is("50", nil)
		expect(t, s, "nothing shows it yet", "PATCH", "")
		time.Sleep(verifyPeriod + time.Second)
		send(ctx, s, g, http.MethodPatch)
		expect(t, s, "restored", "PATCH", "rewound")
	})
}

// What one resource shows is known although another one cannot be read.
func TestOneWitnessIsEnough(t *testing.T) {
	for name, fails := range map[string]func(context.Context) error{
		"at once": func(context.Context) error { return errors.New("forbidden") },
		"late":    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Options{Witnesses: []Witness{
					{Resource: "sources", Version: func(ctx context.Context) (string, error) { return "", fails(ctx) }},
					{Resource: "nodes", Version: func(ctx context.Context) (string, error) {
						time.Sleep(20 * time.Millisecond)
						return "50", ctx.Err()
					}},
				}})
				g.observe("nodes", "100")
				if err := g.probe(t.Context()); !errors.Is(err, ErrRewound) {
					t.Errorf("got %v, want %v", err, ErrRewound)
				}
			})
		})
	}
}

// A busy API server does not hide that it refuses one of the requests for good.
func TestARefusalIsNotHiddenByOneThatMayBeRepeated(t *testing.T) {
	busy := func(context.Context) (string, error) { return "", apierrors.NewTooManyRequests("later", 1) }
	forbidden := func(context.Context) (string, error) {
		return "", apierrors.NewForbidden(schema.GroupResource{Resource: "pools"}, "", errors.New("no right"))
	}
	after := func(delay time.Duration, version func(context.Context) (string, error)) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { time.Sleep(delay); return version(ctx) }
	}
	for name, delay := range map[string]time.Duration{"first": 0, "last": 2 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Options{Witnesses: []Witness{
					{Resource: "sources", Version: after(time.Millisecond, busy)}, {Resource: "pools", Version: after(delay, forbidden)},
				}})
				if err := g.probe(t.Context()); !apierrors.IsForbidden(err) {
					t.Errorf("got %v, want that it is forbidden", err)
				}
			})
		})
	}
}

// That the history cannot be verified any more is found out without a doubt.
func TestARefusedVerificationStopsWrites(t *testing.T) {
	run(t, 0, func(s *store, g *Guard, ctx context.Context) {
		s.is("", apierrors.NewForbidden(schema.GroupResource{Resource: "pools"}, "", errors.New("no right")))
		time.Sleep(verifyPeriod + time.Second)
		send(ctx, s, g, http.MethodPatch)
		expect(t, s, "refused", "", "lost")
	})
}

// created is a lease that is not there.
type created struct {
	coordinationclient.LeaseInterface
	store *store
}

func (c created) Leases(string) coordinationclient.LeaseInterface { return c }

func (c created) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	c.store.say("created")
	lease.ResourceVersion = "300"
	return lease, nil
}

// Whoever held a lease that is deleted writes until its next renewal.
func TestDeletedLeaseIsCreatedAgainByItsHolder(t *testing.T) {
	for name, last := range map[string]struct {
		holder string
		waits  bool
	}{
		"none was there": {"", false}, "held by another": {"other", true}, "held by this one": {"me", false},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 10*time.Second, func(s *store, g *Guard, ctx context.Context) {
				if err := errors.Join(g.learn(holder("other", "100"), read, "me", now(), ""), g.learn(holder(last.holder, "200"), read, "me", now(), "100")); err != nil {
					t.Error(err)
				}
				leases := g.Leases(ctx, created{store: s}, "me").Leases("")
				go func() {
					if _, err := leases.Create(ctx, holder("me", ""), metav1.CreateOptions{}); err != nil {
						s.say("failed")
					}
				}()
				send(ctx, s, g, http.MethodPatch)
				if last.waits {
					expect(t, s, "it may still write", "", "")
					time.Sleep(10 * time.Second)
				}
				expect(t, s, "nobody else writes", "PATCH", "created")
			})
		})
	}
}

func TestLeaseThatGoesBackIsNoticed(t *testing.T) {
	run(t, 10*time.Second, func(s *store, g *Guard, ctx context.Context) {
		_ = g.learn(holder("other", "200"), read, "me", now(), "")
		if err := g.learn(holder("me", "150"), written, "me", now(), "200"); !errors.Is(err, ErrRewound) {
			t.Errorf("got %v, want %v", err, ErrRewound)
		}
		send(ctx, s, g, http.MethodPatch)
		expect(t, s, "one that stands by notices as well", "", "rewound")
		if g.release() {
			t.Error("the lease of the restored cluster may be released, want not")
		}
	})
}

// While the API server is unavailable it is probed once per second, all other
// requests wait, and none fails.
func TestRequestsWaitForTheAPIServer(t *testing.T) {
	run(t, 0, func(s *store, g *Guard, ctx context.Context) {
		s.is("", errors.New("connection refused"))
		g.Doubt()
		time.Sleep(time.Minute)
		for range 5 {
			send(ctx, s, g, http.MethodGet)
			send(ctx, s, g, http.MethodPatch)
		}
		expect(t, s, "away", "", "lost")
		s.mu.Lock()
		if s.probes < 50 || s.probes > 70 {
			t.Errorf("probed %d times in a minute, want once per second", s.probes)
		}
		s.mu.Unlock()
		s.is("100", nil)
		time.Sleep(probePeriod)
		synctest.Wait()
		sent, said := s.has()
		if len(strings.Fields(sent)) != 10 || said != "lost back" {
			t.Errorf("sent %q and said %q, want all of 10 and one line for each", sent, said)
		}
	})
}

// A network that drops all packets breaks no connection.
func TestSilenceIsNoticed(t *testing.T) {
	run(t, 0, func(s *store, _ *Guard, _ context.Context) {
		s.is("", context.DeadlineExceeded)
		time.Sleep(2 * maxSilence)
		expect(t, s, "nothing comes, and nothing fails", "", "lost")
	})
}

// Requests that wait when the guard stops fail.
func TestNobodyWaitsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		g := New(Options{Lost: func(error) {}, Back: func(time.Duration) {}, Settled: func() {}, End: func(error) {}})
		send(t.Context(), s, g, http.MethodPatch)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.Run(ctx)
		expect(t, s, "stopped", "", "failed")
	})
}
