package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// confirmDeparted makes sure of the pools that a plan lets go of and that the
// cache does not have. A pool that is deleted in the ordinary way is in the cache
// until its nodes are released. One that is not may have lost its finalizer; but
// it may also be that the cache was filled by an API server that lags behind the
// one by which the record was written, and then its nodes must keep what they
// have. So the API server is asked, which answers from the newest state. (A pool
// that the cache has in an older state is carried out as that, until the newer one
// arrives.)
func (l *nodeLoop) confirmDeparted(ctx context.Context, pools *poolSnapshot, p *plan.NodePlan) error {
	for _, name := range p.Releases() {
		if _, cached := pools.pools[name]; cached {
			continue
		}
		if _, confirmed := pools.departed.Load(name); confirmed {
			continue
		}
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
