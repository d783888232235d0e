package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// joinRows create nodes one after the other, each when the one before is right.
//
// What counts is the time from when the bare informer sees that a node is there to
// when it sees the node with labels and taints: both have come the same way, so the
// delay of a watch is in neither. It may be that a node is right before its ADDED
// event: the time is then 0.
func joinRows(ctx context.Context, w *world) ([]Figure, error) {
	if err := w.ensureRunning(ctx); err != nil {
		return nil, err
	}
	k, err := newKubelets(w)
	if err != nil {
		return nil, err
	}
	if err := w.settle(ctx); err != nil {
		return nil, err
	}
	var bare, whole, above []float64 // ms
	for i := range w.o.joins {
		m := w.fleet.join(i)
		right := w.observer.expect("a node that joins gets what its pool says", []string{m.name}, w.fleet.right)
		if err := k.register(ctx, m); err != nil {
			return nil, err
		}
		created := time.Now()
		if err := right.wait(ctx, joinPatience); err != nil {
			return nil, err
		}
		seen, ok := w.observer.addedAt(m.name)
		if !ok {
			return nil, fmt.Errorf("node %q is right, and was never seen to be added", m.name)
		}
		bare = append(bare, millis(seen.Sub(created)))
		whole = append(whole, millis(right.last.Sub(created)))
		above = append(above, millis(right.last.Sub(seen)))
		if err := pause(ctx, joinPause); err != nil {
			return nil, err
		}
	}
	return []Figure{
		{Row: "join", Name: fmt.Sprintf("above a bare informer, p50 of %d", w.o.joins), Value: percentile(above, 50), Unit: "ms", Target: &Target{AtMost: 5}},
		{Row: "join", Name: "above a bare informer, p99", Value: percentile(above, 99), Unit: "ms", Target: &Target{AtMost: 15}},
		{Row: "join", Name: "above a bare informer, max", Value: percentile(above, 100), Unit: "ms"},
		{Row: "join", Name: "from the answer to its creation, p50", Value: percentile(whole, 50), Unit: "ms"},
		{Row: "join", Name: "from the answer to its creation, p99", Value: percentile(whole, 99), Unit: "ms"},
		{Row: "join", Name: "a bare informer sees it after, p50", Value: percentile(bare, 50), Unit: "ms"},
		{Row: "join", Name: "a bare informer sees it after, p99", Value: percentile(bare, 99), Unit: "ms"},
	}, nil
}

const (
	joinPatience = time.Minute
	joinPause    = 20 * time.Millisecond // for what follows a join to be over before the next
)

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// percentile is the smallest value that p percent of all values do not exceed.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
