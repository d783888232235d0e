package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes the lock file at path, waiting for as long as another process has
// it. The operating system releases it when this process ends, however it ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	fd := int(f.Fd())
	// Closing the file is what releases the lock; there is nothing to lose in it.
	unlock = func() { f.Close() }

	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return unlock, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		unlock()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}

	say("another process is at it; waiting for it (lock file %s)", path)
	got := make(chan error, 1)
	go func() { got <- syscall.Flock(fd, syscall.LOCK_EX) }()
	select {
	case err = <-got:
		if err != nil {
			unlock()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return unlock, nil
	case <-ctx.Done():
		// The process is about to end, and the waiting goroutine with it.
		return nil, ctx.Err()
	}
}
