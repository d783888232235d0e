package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// What a kubelet does all the time, by its defaults.
const (
	leasePeriod  = 10 * time.Second
	statusPeriod = 5 * time.Minute
)

// steadyRows look at the program while nothing happens but what always does: every
// kubelet renews its lease and writes its unchanged status.
func steadyRows(ctx context.Context, w *world) ([]Figure, error) {
	if err := w.ensureRunning(ctx); err != nil {
		return nil, err
	}
	k, err := newKubelets(w)
	if err != nil {
		return nil, err
	}
	leases := make([]*coordinationv1.Lease, w.size.nodes)
	err = together(ctx, len(leases), clientWorkers, func(ctx context.Context, i int) (err error) {
		leases[i], err = k.createLease(ctx, w.fleet.members[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	// The server gathers what it was sent before.
	if err := pause(ctx, restTime); err != nil {
		return nil, err
	}
	before, err := w.mark(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := w.repository.soFar(ctx)
	if err != nil {
		return nil, err
	}

	beating, end := context.WithTimeout(ctx, w.o.steady)
	defer end()
	beats := beat(beating, k, w.fleet.members[:w.size.nodes], leases)
	<-beating.Done()
	after, err := w.mark(ctx)
	if err != nil {
		return nil, err
	}
	askedAfter, err := w.repository.soFar(ctx)
	if err != nil {
		return nil, err
	}
	if err := <-beats.err; err != nil {
		return nil, err
	}
	return w.steadyFigures(before, after, askedAfter.since(asked), beats)
}

// beats returns how often kubelets wrote.
type beats struct {
	leases, statuses int
	err              chan error
}

// beat plays kubelets until the context ends; then it sends on err.
func beat(ctx context.Context, k kubelets, members []*member, leases []*coordinationv1.Lease) *beats {
	b := &beats{err: make(chan error, 1)}
	go func() {
		b.err <- together(context.WithoutCancel(ctx), 2, 2, func(_ context.Context, which int) (err error) {
			if which == 0 {
				b.leases, err = evenly(ctx, len(members), leasePeriod, clientWorkers, func(ctx context.Context, i int) (err error) {
					renewed, err := k.renew(ctx, leases[i])
					if err == nil {
						leases[i] = renewed
					}
					return err
				})
				return err
			}
			b.statuses, err = evenly(ctx, len(members), statusPeriod, clientWorkers, func(ctx context.Context, i int) error {
				return k.heartbeat(ctx, members[i])
			})
			return err
		})
	}()
	return b
}

func (w *world) steadyFigures(before, after mark, git traffic, b *beats) ([]Figure, error) {
	requests, err := w.asked(before)
	if err != nil {
		return nil, err
	}
	asked := writesOf(requests, "nodes", "leases")
	nodeWrites := after.nodeWrites(before).all()
	lasted := w.o.steady.Seconds()
	over := fmt.Sprintf(" in %s", w.o.steady)
	return []Figure{
		{Row: "steady", Name: "writes" + over, Value: float64(nodeWrites + asked.outside), Unit: "writes", Target: &Target{AtMost: 0}},
		{Row: "steady", Name: "requests about nodes" + over, Value: float64(nodeWrites + asked.nodes), Unit: "requests"},
		{Row: "steady", Name: "all requests, the leader's lease included", Value: float64(nodeWrites + asked.all), Unit: "requests"},
		{Row: "steady", Name: "processor time, of one core", Value: 100 * (after.use.cpu - before.use.cpu) / lasted, Unit: "%", Target: &Target{AtMost: 1}},
		{Row: "steady", Name: "peak memory since the start", Value: after.use.peak, Unit: "MiB", Target: peakTarget(w.size.nodes)},
		{Row: "steady", Name: "Git objects asked for", Value: float64(git.Packs), Unit: "requests", Target: &Target{AtMost: 0}},
		{Row: "steady", Name: "Git requests", Value: float64(git.Requests), Unit: "requests"},
		{Row: "steady", Name: "Git bytes", Value: float64(git.Bytes), Unit: "bytes"},
		{Row: "steady", Name: "lease renewals of kubelets meanwhile", Value: float64(b.leases) / lasted, Unit: "per second"},
		{Row: "steady", Name: "node statuses of kubelets meanwhile", Value: float64(b.statuses) / lasted, Unit: "per second"},
	}, nil
}
