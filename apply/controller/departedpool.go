package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// knows reports whether a pool is in the snapshot, or was confirmed to be gone.
func (s *poolSnapshot) knows(pool string) bool {
	if _, cached := s.pools[pool]; cached {
		return true
	}
	_, confirmed := s.departed.Load(pool)
	return confirmed
}

// confirmGone makes sure of the pools that a plan releases and that the cache does not
// have. A pool that is deleted in the ordinary way is in the cache until its nodes are
// released. One that is not may have lost its finalizer; but it may also be that the
// cache was filled by an API server that lags behind the one by which the record was
// written, and then its nodes must keep what they have. So the API server is asked,
// which answers from the newest state. (A pool that the cache has in an older state is
// carried out as that, until the newer one arrives.)
func (l *nodeLoop) confirmGone(ctx context.Context, pools *poolSnapshot, names []string) error {
	for _, name := range names {
		var found v1.NodePoolList
		if err := l.live.List(ctx, &found, client.MatchingFields{"metadata.name": name}); err != nil {
			return fmt.Errorf("pool %q is not in the cache; is it gone: %w", name, err)
		}
		if len(found.Items) > 0 {
			return fmt.Errorf("pool %q exists, and nothing of it is released: %w", name, errBehind)
		}
		pools.departed.Store(name, true)
	}
	return nil
}
