package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// samplePeriod is how often the versions of the caches are read.
	samplePeriod = time.Second
	// probeTimeout bounds one probe of the API server, and probePeriod is how
	// often one that does not answer is probed.
	probeTimeout = 5 * time.Second
	probePeriod  = time.Second
	// secondTry is how soon after the first failure the API server is probed once
	// more, before it counts as lost: a single broken connection is ordinary.
	secondTry = 200 * time.Millisecond
	// maxSilence is how long nothing may be received from the API server until it
	// is probed. Nodes send heartbeats all the time, and the lease is renewed more
	// often.
	maxSilence = 20 * time.Second
	// verifyPeriod is how often the history is verified without a doubt: a store that is
	// restored under an API server that goes on, and whose watches wait, raises none.
	verifyPeriod = 20 * time.Second
)

// Run verifies the history whenever there is a doubt, and without one from time to
// time, and probes an API server that does not answer until it does. When the context
// ends, nothing waits any more.
func (g *Guard) Run(ctx context.Context) {
	defer g.set(func() { g.stopped = true })
	var verification sync.WaitGroup
	defer verification.Wait()
	verification.Go(func() { every(ctx, verifyPeriod, func() { g.reverify(ctx) }) })
	silence := time.NewTicker(samplePeriod)
	defer silence.Stop()
	g.settle(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-silence.C:
			if time.Since(*g.heard.Load()) > maxSilence {
				g.Doubt()
			}
		case <-g.wake:
			g.settle(ctx)
		}
	}
}

// reverify verifies the history without a doubt, and lets writes go on meanwhile. Whether
// the API server answers at all is found out by those who wait for it; that it answers,
// and refuses this, is a doubt.
func (g *Guard) reverify(ctx context.Context) {
	switch err := g.probe(ctx); {
	case errors.Is(err, ErrRewound):
		g.end(err)
	case answered(err) && !apierrors.IsTooManyRequests(err):
		g.Doubt()
	}
}

// settle probes the API server until it answers and nothing is in doubt.
func (g *Guard) settle(ctx context.Context) {
	var since time.Time // of the first failure
	for failures := 0; ctx.Err() == nil; {
		g.mu.Lock()
		doubts, certain := g.doubts, g.certain()
		g.mu.Unlock()
		if certain {
			return
		}
		probed := time.Now()
		err := g.probe(ctx)
		switch {
		case err == nil:
			g.answered(doubts, since)
			failures, since = 0, time.Time{}
			continue
		case errors.Is(err, ErrRewound):
			g.end(err)
			return
		case ctx.Err() != nil:
			return
		case apierrors.IsTooManyRequests(err): // it answers
		case failures == 0:
			since = probed
		}
		if !apierrors.IsTooManyRequests(err) {
			failures++
		}
		if failures == 1 && !errors.Is(err, context.DeadlineExceeded) {
			pause(ctx, secondTry)
			continue
		}
		if failures > 0 {
			g.lose(err)
		}
		pause(ctx, probePeriod)
	}
}

func (g *Guard) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return g.verify(ctx)
}

// answered records that only doubts that arose after the probe remain.
func (g *Guard) answered(doubts uint64, since time.Time) {
	g.hear()
	back := false
	g.set(func() {
		back, g.lost = g.lost, false
		g.verified = doubts
	})
	if back {
		g.options.Back(time.Since(since))
	} else {
		g.options.Settled()
	}
}

func (g *Guard) lose(err error) {
	first := false
	g.set(func() { first, g.lost = !g.lost, true })
	if first {
		g.options.Lost(err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// every calls do once per period until the context ends.
func every(ctx context.Context, period time.Duration, do func()) {
	for pause(ctx, period); ctx.Err() == nil; pause(ctx, period) {
		do()
	}
}
