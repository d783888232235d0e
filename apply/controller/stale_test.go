package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// A cache may have been filled by an API server that lags behind: a record then
// speaks of a pool that the cache has never heard of.
func TestNothingIsReleasedOnAStaleCache(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.isReadyNode("n1") // Kubernetes writes it until then, too
	stale := staleCache(w, &v1.NodePool{}, &v1.NodePoolSource{}, &corev1.Node{})
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	w.stop()
	t.Cleanup(w.start) // to clear up

	var list v1.NodePoolList
	w.do(stale.List(t.Context(), &list))
	if slices.ContainsFunc(list.Items, func(pool v1.NodePool) bool { return pool.Name == "tenant" }) {
		t.Fatal("the cache is not behind")
	}
	connection, err := rest.HTTPClientFor(w.cluster.Config)
	w.do(err)
	patcher, err := apply.NewNodeClient(w.cluster.Config, connection)
	w.do(err)
	staleNodes, err := nodecache.Cached(stale)
	w.do(err)
	before := bare(t, w.get("n1"))
	pass := func(view *fleet.Fleet, node string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := nodes.New(w, w, nodecache.Live(w), view, patcher, plan.DefaultRepairBackoff(), nil, logr.Discard()).Reconcile(ctx, loop.RequestFor(node))
		return err
	}
	if err := pass(fleet.New(stale, staleNodes), "n1"); err != nil {
		t.Errorf("a pool that the cache has never heard of releases nothing: %v", err)
	}
	if err := pass(fleet.New(stale, staleNodes).WithLive(w), "n1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the pass waits until the cache is as new as the API server, and ends with %v", err)
	}
	if now := bare(t, w.get("n1")); now != before {
		t.Errorf("the node was written:\n%s\nwas\n%s", now, before)
	}
	if err := pass(fleet.New(stale, staleNodes), "gone"); err != nil {
		t.Errorf("a node that is gone: %v", err)
	}
}

// staleCache is a cache that has seen all objects of some kinds that there are
// now, and will see no other.
func staleCache(w *world, kinds ...client.Object) cache.Cache {
	w.t.Helper()
	c, err := nodecache.New(w.cluster.Config, cache.Options{Scheme: w.Scheme()})
	w.do(err)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	for _, kind := range kinds {
		_, err = c.GetInformer(w.t.Context(), kind)
		w.do(err)
	}
	if !c.WaitForCacheSync(w.t.Context()) {
		w.t.Fatal("the cache does not sync")
	}
	cancel()
	w.do(<-ended)
	return c
}
