package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// percentile is the smallest value that p percent of all values do not exceed.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// median is the middle value; of an even number of values the larger one of the two.
func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// together calls do for every index, at most workers at once, and returns the first error.
func together(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := 0; i < n && within.Err() == nil; i++ {
		g.Go(func() error { return do(within, i) })
	}
	return cmp.Or(g.Wait(), context.Cause(ctx))
}

// evenly calls do for 0, 1, … n-1, 0, … so that each comes once in a period, until the
// context ends, and returns the number of calls. A call that has begun is not canceled.
func evenly(ctx context.Context, n int, period time.Duration, do func(ctx context.Context, i int) error) (calls int, err error) {
	start, gap := time.Now(), period/time.Duration(n)
	g, within := errgroup.WithContext(context.WithoutCancel(ctx))
	g.SetLimit(clientWorkers)
	for ; within.Err() == nil && pause(ctx, time.Until(start.Add(time.Duration(calls)*gap))) == nil; calls++ {
		i := calls % n
		g.Go(func() error { return do(within, i) })
	}
	return calls, g.Wait()
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return context.Cause(ctx)
}
