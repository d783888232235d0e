package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Reasons for which a [Guard] ends the manager that it guards.
var (
	// ErrRewound means that the cluster is at an earlier point of its history than
	// one that was observed before.
	ErrRewound = errors.New("the cluster has gone back in time")
	// ErrLeaseLost means that another instance holds the lease.
	ErrLeaseLost = errors.New("the lease is lost")
)

// errStopping is returned to requests that would have to wait while the guard stops.
var errStopping = errors.New("not sent: the controller stops")

// Options of a Guard.
type Options struct {
	// Witnesses are the resources whose history is verified.
	Witnesses []Witness
	// LeaseTime is how long a renewal of the lease allows writes; 0 where there is
	// no lease. It must be shorter than the time after which others acquire the
	// lease, by as much as a request may take to arrive.
	LeaseTime time.Duration
	// Lost is called when the API server stops answering, and Back when it answers
	// again, with the length of the outage. Settled is called when a doubt turns
	// out to be unfounded.
	Lost    func(err error)
	Back    func(after time.Duration)
	Settled func()
	// End is called once, with an error that wraps [ErrRewound] or [ErrLeaseLost],
	// when nothing in memory may be written any more.
	End func(cause error)
}

// Guard decides when requests are sent. It may be used by many goroutines at once.
type Guard struct {
	options Options
	// heard is when anything was last received from the API server.
	heard atomic.Pointer[time.Time]
	// wake has a value when the history must be verified.
	wake chan struct{}

	mu sync.Mutex
	// changed is closed when anything below changes that requests wait for.
	changed chan struct{}
	// doubts counts the reasons to verify the history; verified is their number at
	// the beginning of the last successful verification.
	doubts, verified uint64
	// following is set once there is something in memory to verify.
	following bool
	// lost is set while the API server does not answer, ended when nothing may be
	// written any more, stopped when nobody may wait any more.
	lost, ended, stopped bool
	// renewed is when the last successful renewal of the lease began; zero while the
	// lease is not held.
	renewed moment
	// elsewhere is set while the lease is held by somebody else, as it was read last.
	elsewhere bool
	// newest is the highest resourceVersion that was observed, by resource, and sampled
	// that of the cache at the last sample.
	newest, sampled map[string]string
}

// New returns a Guard that does not allow writes yet: see [Guard.Follow].
func New(options Options) *Guard {
	g := &Guard{options: options, wake: make(chan struct{}, 1), changed: make(chan struct{}), doubts: 1, newest: map[string]string{}, sampled: map[string]string{}}
	g.hear()
	return g
}

// set changes state that requests wait for, and wakes them.
func (g *Guard) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// Doubt reports that the API server may be another one: a connection was made
// or lost. Nothing is written until the history is verified.
func (g *Guard) Doubt() {
	g.mu.Lock()
	g.doubts++
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default: // already requested
	}
}

// InDoubt reports whether the API server may be the cause of a failure, and
// whether that is known: it does not answer, or nothing may be written any
// more.
func (g *Guard) InDoubt() (doubt, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known = g.lost || g.ended
	return known || g.doubts != g.verified, known
}

// mayWrite reports whether a request that writes may be sent. The lock is held.
func (g *Guard) mayWrite() bool {
	return g.following && !g.ended && g.certain() &&
		(g.options.LeaseTime == 0 || g.renewed.within(g.options.LeaseTime))
}

// certain reports whether the API server answers and the history is verified. The
// lock is held.
func (g *Guard) certain() bool { return !g.lost && g.doubts == g.verified }

// mayRead reports whether a request that reads may be sent. The lock is held.
func (g *Guard) mayRead() bool { return !g.lost }

// await waits until a request may be sent.
func (g *Guard) await(ctx context.Context, may func() bool) error {
	for {
		g.mu.Lock()
		ok, stopped, changed := may(), g.stopped, g.changed
		g.mu.Unlock()
		switch {
		case ok:
			return nil
		case stopped:
			return errStopping
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end stops all writes for good, and reports why.
func (g *Guard) end(cause error) {
	first := false
	g.set(func() { first, g.ended = !g.ended, true })
	if first {
		g.options.End(cause)
	}
}

func (g *Guard) hear() {
	now := time.Now()
	g.heard.Store(&now)
}
