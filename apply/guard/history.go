package guard

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Witness is a resource whose history is verified. Versions of different resources
// are never compared: they may be kept in different stores.
type Witness struct {
	Resource string
	// Ask returns the newest resourceVersion from the store, never from a cache that
	// may be behind it. Whatever anybody has seen of the resource before is then not
	// higher, unless history has changed. It is empty where there is no such resource.
	Ask func(ctx context.Context) (string, error)
}

// Follow says what the caches have seen: the newest resourceVersion by resource,
// empty for one that is not known. Until it is called nothing is written: what the
// caches hold is verified first.
func (g *Guard) Follow(ctx context.Context, seen func(resource string) string) {
	g.set(func() { g.following = true })
	g.Doubt()
	g.sample(seen)
	every(ctx, samplePeriod, func() { g.sample(seen) })
}

// sample notes what the caches have seen. They are asked all the time: once they
// have read another history, they no longer know the one before.
func (g *Guard) sample(seen func(resource string) string) {
	for _, witness := range g.options.Witnesses {
		// A version that falls is left to verify, which asks the store.
		if g.see(witness.Resource, seen(witness.Resource)) {
			g.Doubt()
		}
	}
}

// see notes a resourceVersion, and reports whether it is lower than the newest.
func (g *Guard) see(resource, version string) (fell bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if newest := g.newest[resource]; newest != "" {
		order, err := resourceversion.CompareResourceVersion(version, newest)
		if err != nil || order <= 0 {
			return err == nil && order < 0
		}
	}
	g.newest[resource] = version
	return false
}

// verify asks the store for the version of every witness. It returns an error of
// [ErrRewound] where one is lower than what was seen before it was asked.
func (g *Guard) verify(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var asked sync.WaitGroup
	for _, witness := range g.options.Witnesses {
		asked.Go(func() {
			if err := g.ask(ctx, witness); err != nil {
				cancel(err)
			}
		})
	}
	asked.Wait()
	return context.Cause(ctx)
}

func (g *Guard) ask(ctx context.Context, witness Witness) error {
	g.mu.Lock()
	before := g.newest[witness.Resource]
	g.mu.Unlock()
	version, err := witness.Ask(ctx)
	if err != nil || version == "" {
		return err
	}
	if err := fallen(witness.Resource, before, version); err != nil {
		return err
	}
	g.see(witness.Resource, version)
	return nil
}

// fallen returns an error of [ErrRewound] where a version is lower than one that
// was seen before it was asked for.
func fallen(resource, before, after string) error {
	if before == "" {
		return nil
	}
	order, err := resourceversion.CompareResourceVersion(after, before)
	if err != nil {
		return fmt.Errorf("resourceVersion of %s: %w", resource, err)
	}
	if order < 0 {
		return fmt.Errorf("%w: %s are at resourceVersion %s, and were at %s before", ErrRewound, resource, after, before)
	}
	return nil
}
