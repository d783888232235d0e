package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Main runs the tests of a package which share one cluster, and exits:
//
//	func TestMain(m *testing.M) { cluster.Main(m, cluster.Options{Scheduler: true}) }
//
// The cluster starts with the first call of [Shared], so that tests without it
// run alone in no time. It stops when all have run, or when they are
// interrupted.
func Main(m *testing.M, opts Options) {
	os.Exit(Run(m, opts))
}

// Run is [Main] for a TestMain that has more to do before it exits, or that
// leaves it to another: it returns the code to exit with. Both *testing.M and
// what wraps it can be run.
func Run(m interface{ Run() int }, opts Options) int {
	defineFlags()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	shared.allow(ctx, opts)
	others := besideOthers(ctx, opts.Beside)

	ran := make(chan int, 1)
	go func() { ran <- m.Run() }()
	code := 1
	select {
	case code = <-ran:
	case <-ctx.Done():
	}
	if err := shared.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stop the shared cluster: %v\n", err)
		code = max(code, 1)
	}
	return max(code, others())
}

// Shared returns the cluster which the tests of the package share, after
// starting it for the first of them.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	c, err := shared.get()
	if err != nil {
		t.Fatalf("start the shared cluster: %v", err)
	}
	return c
}

// New starts a cluster for one test and stops it when the test ends.
func New(t testing.TB, opts Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}

// Eventually waits until check returns nil, and fails the test with its last
// error when that takes longer than timeout. What says what is waited for:
// "node a has the pool's taint".
func Eventually(t testing.TB, what string, timeout time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, timeout, err)
		}
		<-ticker.C
	}
}

// shared is the one cluster of a test binary. Tests have no other way to hand
// something from TestMain to each other than a variable.
var shared sharedCluster

type sharedCluster struct {
	mu    sync.Mutex
	start func() (*Cluster, error) // nil outside Main, and when the cluster was started or stopped
	c     *Cluster
	err   error // why there is no cluster
}

func (s *sharedCluster) allow(ctx context.Context, opts Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = func() (*Cluster, error) { return Start(ctx, opts) }
}

func (s *sharedCluster) get() (*Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start != nil {
		s.c, s.err = s.start()
		s.start = nil
	}
	if s.c == nil && s.err == nil {
		return nil, errors.New("there is none; call cluster.Main or cluster.Run in TestMain")
	}
	return s.c, s.err
}

func (s *sharedCluster) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = nil
	if s.c == nil {
		return nil
	}
	return s.c.Stop()
}
