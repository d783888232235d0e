package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
)

// catchUp makes sure, once, that the cache is as new as the API server was at the start. Numbers
// of sources are believed only then: a number whose pools the cache has not seen yet would have
// nodes follow a part of a revision. Later the cache has the pools of a number before the number,
// as a source writes it once the cache has them.
type catchUp struct {
	cached client.Reader
	live   client.Reader // nil where there is nothing to catch up with

	mu   sync.Mutex
	done bool
}

// cacheLag is for how long the cache may be behind before the API server is asked again, by
// which objects may be gone.
const cacheLag = 2 * time.Second

// CatchUp returns once the cache is as new as the API server was when it was first called.
func (c *catchUp) CatchUp(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.done && c.live != nil {
		// The sources first: what is written under a number that is seen is seen then, too.
		var sources v1.NodePoolSourceList
		if err := c.live.List(ctx, &sources); err != nil {
			return fmt.Errorf("list sources: %w", err)
		}
		pools, err := loop.ListPools(ctx, c.live)
		if err != nil {
			return err
		}
		var objects []client.Object
		for i := range sources.Items {
			objects = append(objects, &sources.Items[i])
		}
		for _, pool := range pools {
			objects = append(objects, pool)
		}
		if c.done, err = c.await(ctx, objects); err != nil {
			return err
		}
	}
	return nil
}

// await reports whether the cache has all objects, as new as they are or newer, within cacheLag.
func (c *catchUp) await(ctx context.Context, objects []client.Object) (bool, error) {
	for until := time.Now().Add(cacheLag); ; {
		has, err := c.has(ctx, objects)
		if err != nil || has || time.Now().After(until) {
			return has, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *catchUp) has(ctx context.Context, objects []client.Object) (bool, error) {
	for _, object := range objects {
		cached := object.DeepCopyObject().(client.Object)
		err := c.cached.Get(ctx, types.NamespacedName{Name: object.GetName()}, cached, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		order, orderErr := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), object.GetResourceVersion())
		if err != nil || orderErr != nil || order < 0 {
			return false, orderErr
		}
	}
	return true, nil
}
