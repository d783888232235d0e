package controller

import (
	"context"
	"slices"
	"testing"

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
	w.pool(tenantPool)
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
	reconciler := nodes.New(w, w, nodecache.Live(w), fleet.New(stale, staleNodes), patcher, plan.DefaultRepairBackoff(), nil, logr.Discard())
	before := bare(t, w.get("n1"))
	if _, err := reconciler.Reconcile(t.Context(), loop.RequestFor("n1")); err == nil {
		t.Error("the pass went well, want it to come back")
	}
	if now := bare(t, w.get("n1")); now != before {
		t.Errorf("the node was written:\n%s\nwas\n%s", now, before)
	}

	// Once the pool is really gone, what it has put there goes.
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "tenant", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "tenant")
	_, err = reconciler.Reconcile(t.Context(), loop.RequestFor("n1"))
	w.do(err)
	w.carries("n1", role("tenant"))
	if _, err := reconciler.Reconcile(t.Context(), loop.RequestFor("gone")); err != nil {
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
