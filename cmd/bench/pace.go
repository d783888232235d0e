package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// together calls do for every index, as many at once as there are workers, and
// returns the first error after all that were begun have ended.
func together(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(n, workers) {
		wg.Go(func() {
			for i := range work {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case work <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// evenly calls do for 0, 1, … n-1, 0, … so that each comes once in a period, until
// the context ends, which is no error. It returns how often; where the calls take
// too long, that is less than it should be.
func evenly(ctx context.Context, n int, period time.Duration, workers int, do func(ctx context.Context, i int) error) (int, error) {
	start, gap := time.Now(), period/time.Duration(n)
	var calls atomic.Int64
	err := together(ctx, math.MaxInt, workers, func(ctx context.Context, i int) error {
		if pause(ctx, time.Until(start.Add(time.Duration(i)*gap))) != nil {
			return nil
		}
		err := do(ctx, i%n)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		calls.Add(1)
		return err
	})
	if ctx.Err() != nil {
		err = nil
	}
	return int(calls.Load()), err
}

// pause waits, unless the context ends first. The context is asked before the timer, as
// of two that are ready select takes either.
func pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
