package apply

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// creations makes the creation of a pool wait for the one that must precede it.
type creations map[string]*creation

// creation is the creation of one pool.
type creation struct {
	over chan struct{}
	err  error
}

func newCreations(changes []plan.PoolChange) creations {
	t := creations{}
	for _, change := range changes {
		if change.CreateAfter != "" {
			t[change.CreateAfter] = &creation{over: make(chan struct{})}
		}
	}
	return t
}

// await waits until the pool that must precede this one is created; its
// creation has already begun. Where it failed, this one fails as well: it would
// be the older of the two.
func (t creations) await(ctx context.Context, change plan.PoolChange) error {
	before := t[change.CreateAfter]
	if before == nil {
		return nil
	}
	select {
	case <-before.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if before.err != nil {
		return fmt.Errorf("pool %q has to be created first: %w", change.CreateAfter, before.err)
	}
	return nil
}

// done ends the creation of a pool.
func (t creations) done(change plan.PoolChange, err error) {
	if created := t[change.Name]; created != nil {
		created.err = err
		close(created.over)
	}
}

const (
	// clockSkew is more than clocks differ by. What was created longer ago is
	// older by any clock.
	clockSkew = time.Minute
	// maxSeconds is how often awaitSecond waits for the next second.
	maxSeconds = 3
)

// awaitSecond waits until a pool would get a later creation time than another
// one. Only the clock of the API server counts: a dry run returns it.
func (a *Applier) awaitSecond(ctx context.Context, change plan.PoolChange) error {
	if change.Action != plan.Create || time.Since(change.NotBefore.Time) > clockSkew {
		return nil
	}
	for range maxSeconds {
		would, err := a.applyPool(ctx, poolRecord(change), client.DryRunAll)
		if err != nil {
			return err
		}
		if would.CreationTimestamp.After(change.NotBefore.Time) {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
