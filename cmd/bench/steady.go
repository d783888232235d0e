package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// statusPeriod is how often a kubelet writes a status that has not changed.
const statusPeriod = 5 * time.Minute

// steadyRow measures the program while nothing happens but what always does: every kubelet
// writes its unchanged status.
func steadyRow(ctx context.Context, w *world) ([]Figure, error) {
	r, err := w.rest(ctx)
	return []Figure{
		{Row: "steady", Name: fmt.Sprintf("writes in %s", w.o.steady), Value: r.writes, Unit: "writes", Target: &Target{0}},
		{Row: "steady", Name: "all requests, the leader's lease included", Value: float64(len(r.requests)), Unit: "requests"},
		{Row: "steady", Name: "processor time, of one core", Value: r.share, Unit: "%", Target: &Target{1}},
		{Row: "steady", Name: "Git objects asked for", Value: r.packs, Unit: "requests", Target: &Target{0}},
		{Row: "steady", Name: "Git requests", Value: r.polls, Unit: "requests"},
		{Row: "steady", Name: "node statuses of kubelets meanwhile", Value: float64(r.statuses) / w.o.steady.Seconds(), Unit: "per second"},
	}, err
}

// resting is what the program has done while it had nothing to do.
type resting struct {
	writes       float64 // of nodes by anybody, and of the program; its lease left out
	requests     []cluster.Request
	share        float64 // of one core, in percent
	polls, packs float64 // requests of Git, and those for objects among them
	statuses     int     // that kubelets wrote
}

// rest measures the program at rest, while kubelets write their statuses.
func (w *world) rest(ctx context.Context) (r resting, err error) {
	status("nodepools is at rest for %s", w.o.steady)
	k, err := newKubelets(w)
	if err != nil {
		return r, err
	}
	if err := pause(ctx, restTime); err != nil {
		return r, err
	}
	before, err := w.mark(ctx)
	if err != nil {
		return r, err
	}
	git, err := w.repository.during(ctx, func(ctx context.Context) (err error) {
		during, end := context.WithTimeout(ctx, w.o.steady)
		defer end()
		r.statuses, err = evenly(during, w.size.nodes, statusPeriod, func(ctx context.Context, i int) error {
			return k.heartbeat(ctx, w.fleet.members[i])
		})
		return err
	})
	if err != nil {
		return r, err
	}
	use, err := w.use()
	if err != nil {
		return r, err
	}
	r.share, r.polls, r.packs = 100*(use.cpu-before.use.cpu)/w.o.steady.Seconds(), git.requests[0], git.packs[0]
	r.writes, r.requests, err = w.since(ctx, before)
	r.writes += countWrites(r.requests)
	return r, err
}
