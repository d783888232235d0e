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
	b, err := w.newBeating(ctx)
	if err != nil {
		return nil, err
	}
	r, err := w.rest(ctx, b, w.o.steady)
	if err != nil {
		return nil, err
	}
	return w.steadyFigures(r), nil
}

// beating is what kubelets do all the time.
type beating struct {
	kubelets
	leases []*coordinationv1.Lease
}

// newBeating creates the leases of the fleet.
func (w *world) newBeating(ctx context.Context) (b *beating, err error) {
	b = &beating{leases: make([]*coordinationv1.Lease, w.size.nodes)}
	if b.kubelets, err = newKubelets(w); err != nil {
		return nil, err
	}
	return b, together(ctx, len(b.leases), clientWorkers, func(ctx context.Context, i int) (err error) {
		b.leases[i], err = b.createLease(ctx, w.fleet.members[i])
		return err
	})
}

// resting is what the program has done for some time in which it had nothing to do.
type resting struct {
	*beats
	lasted     time.Duration
	nodeWrites int // by anybody
	// asked are the requests of the program, patches of nodes left out.
	asked tallied
	cpu   float64 // seconds
	peak  float64 // MiB since the start
	git   traffic
}

// rest looks at the program for some time, while kubelets do what they always do.
func (w *world) rest(ctx context.Context, b *beating, lasts time.Duration) (r resting, err error) {
	// The server gathers what it was sent before.
	if err := pause(ctx, restTime); err != nil {
		return r, err
	}
	before, err := w.mark(ctx)
	if err != nil {
		return r, err
	}
	asked, err := w.repository.soFar(ctx)
	if err != nil {
		return r, err
	}
	during, end := context.WithTimeout(ctx, lasts)
	defer end()
	r.beats, r.lasted = b.beat(during, w.fleet.members[:w.size.nodes]), lasts
	<-during.Done()
	after, err := w.mark(ctx)
	if err != nil {
		return r, err
	}
	askedAfter, err := w.repository.soFar(ctx)
	if err != nil {
		return r, err
	}
	if err := <-r.err; err != nil {
		return r, err
	}
	requests, err := w.asked(before)
	r.asked, r.nodeWrites, r.git = writesOf(requests, "nodes", "leases"), after.nodeWrites(before).all(), askedAfter.since(asked)
	r.cpu, r.peak = after.use.cpu-before.use.cpu, after.use.peak
	return r, err
}

// beats returns how often kubelets wrote.
type beats struct {
	leases, statuses int
	err              chan error
}

// beat plays kubelets until the context ends; then it sends on err. No request is cut off:
// a lease must be known as it was written last.
func (k *beating) beat(ctx context.Context, members []*member) *beats {
	b, whole := &beats{err: make(chan error, 1)}, context.WithoutCancel(ctx)
	go func() {
		b.err <- together(whole, 2, 2, func(_ context.Context, which int) (err error) {
			if which == 0 {
				b.leases, err = evenly(ctx, len(members), leasePeriod, clientWorkers, func(_ context.Context, i int) (err error) {
					renewed, err := k.renew(whole, k.leases[i])
					if err == nil {
						k.leases[i] = renewed
					}
					return err
				})
				return err
			}
			b.statuses, err = evenly(ctx, len(members), statusPeriod, clientWorkers, func(_ context.Context, i int) error {
				return k.heartbeat(whole, members[i])
			})
			return err
		})
	}()
	return b
}

// writes of the program, its lease left out.
func (r resting) writes() float64 { return float64(r.nodeWrites + r.asked.outside) }

// share of one core that the program has used, in percent.
func (r resting) share() float64 { return 100 * r.cpu / r.lasted.Seconds() }

func (w *world) steadyFigures(r resting) []Figure {
	lasted, over := r.lasted.Seconds(), fmt.Sprintf(" in %s", r.lasted)
	return []Figure{
		{Row: "steady", Name: "writes" + over, Value: r.writes(), Unit: "writes", Target: &Target{AtMost: 0}},
		{Row: "steady", Name: "requests about nodes" + over, Value: float64(r.nodeWrites + r.asked.nodes), Unit: "requests"},
		{Row: "steady", Name: "all requests, the leader's lease included", Value: float64(r.nodeWrites + r.asked.all), Unit: "requests"},
		{Row: "steady", Name: "processor time, of one core", Value: r.share(), Unit: "%", Target: &Target{AtMost: 1}},
		{Row: "steady", Name: "peak memory since the start", Value: r.peak, Unit: "MiB", Target: peakTarget(w.size.nodes)},
		{Row: "steady", Name: "Git objects asked for", Value: float64(r.git.Packs), Unit: "requests", Target: &Target{AtMost: 0}},
		{Row: "steady", Name: "Git requests", Value: float64(r.git.Requests), Unit: "requests"},
		{Row: "steady", Name: "Git bytes", Value: float64(r.git.Bytes), Unit: "bytes"},
		{Row: "steady", Name: "lease renewals of kubelets meanwhile", Value: float64(r.leases) / lasted, Unit: "per second"},
		{Row: "steady", Name: "node statuses of kubelets meanwhile", Value: float64(r.statuses) / lasted, Unit: "per second"},
	}
}
