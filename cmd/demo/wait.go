package main

import (
	"context"
	"fmt"
	"time"
)

const (
	pollInterval = 25 * time.Millisecond

	// waitTimeout is how long to wait for what usually takes a second or two.
	waitTimeout = 45 * time.Second
)

// until waits for check to return nil, and returns how long that took since start.
// What is expected goes on from "expected": "every node to be Ready".
func until(ctx context.Context, start time.Time, expected string, check func(context.Context) error) (time.Duration, error) {
	waiting, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error // that is not about the waiting itself
	for {
		err := check(waiting)
		if err == nil {
			return time.Since(start), nil
		}
		if waiting.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-waiting.Done():
			return 0, fmt.Errorf("expected %s within %s: %w", expected, waitTimeout, last)
		case <-ticker.C:
		}
	}
}
