package guard

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Witness is a resource whose history is verified. Versions of different resources
// are never compared: they may be kept in different stores.
type Witness struct {
	Resource string
	// Version returns the newest resourceVersion from the store, never from a
	// cache that may lag behind it. Every version that was observed before the
	// call is then not higher, unless history has changed. It is empty where there
	// is no such resource.
	Version func(ctx context.Context) (string, error)
}

// Follow samples the caches until the context ends: seen returns the newest
// resourceVersion that they have read of a resource, or nothing. Nothing is
// written before it is called, and before the content of the caches is
// verified.
func (g *Guard) Follow(ctx context.Context, seen func(resource string) string) {
	g.set(func() { g.following = true })
	g.Doubt()
	g.sample(seen)
	every(ctx, samplePeriod, func() { g.sample(seen) })
}

// sample records the versions of the caches. It is called continuously: once
// they have read another history, they no longer know the one before.
//
// A cache that has read nothing since the sample before has read no other history.
// Its version is lower than that of the store for as long as others write and
// nothing changes that it holds: verified once per second, that would stop all
// writes each time.
func (g *Guard) sample(seen func(resource string) string) {
	for _, witness := range g.options.Witnesses {
		version := seen(witness.Resource)
		// Whether a lower version is an error is decided by verify, which reads the store.
		if g.hasRead(witness.Resource, version) && g.observe(witness.Resource, version) {
			g.Doubt()
		}
	}
}

// hasRead reports whether the version of a cache is another one than at the sample
// before.
func (g *Guard) hasRead(resource, version string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.sampled[resource]
	g.sampled[resource] = version
	return version != before
}

// observe records a resourceVersion, and reports whether it is lower than the newest.
func (g *Guard) observe(resource, version string) (fell bool) {
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

// verify reads the version of every witness from the store. It returns an error
// that wraps [ErrRewound] where one is lower than a version that was observed
// before the request, whatever happens to the others; these are not waited for. That a
// request is refused counts for more than that another one is to be repeated later.
func (g *Guard) verify(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan error, len(g.options.Witnesses))
	for _, witness := range g.options.Witnesses {
		go func() { results <- g.readVersion(ctx, witness) }()
	}
	var failed error
	for range g.options.Witnesses {
		err := <-results
		if errors.Is(err, ErrRewound) {
			return err
		}
		if failed == nil || err != nil && apierrors.IsTooManyRequests(failed) {
			failed = err
		}
	}
	return failed
}

func (g *Guard) readVersion(ctx context.Context, witness Witness) error {
	g.mu.Lock()
	before := g.newest[witness.Resource]
	g.mu.Unlock()
	version, err := witness.Version(ctx)
	if err != nil || version == "" {
		return err
	}
	if err := checkNotLower(witness.Resource, before, version); err != nil {
		return err
	}
	g.observe(witness.Resource, version)
	return nil
}

// checkNotLower returns an error that wraps [ErrRewound] where a version is
// lower than one that was observed before it was requested.
func checkNotLower(resource, before, after string) error {
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
