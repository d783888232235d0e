package nodecache

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// patience is how long anything may take.
const patience = time.Minute

func TestMain(m *testing.M) { cluster.Main(m, cluster.Options{}) }

// TestCacheReadsNoMoreThanItKeeps asks a real API server, which sends the nodes that
// there are one by one, or as a list where it is too old for that.
func TestCacheReadsNoMoreThanItKeeps(t *testing.T) {
	for name, oneByOne := range map[string]bool{"one by one": true, "a list": false} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, oneByOne)
			config := cluster.Shared(t).Config
			direct, err := client.New(config, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			create(t, direct, realisticNode(0))
			nodes, read := cachedNodes(t, config)
			create(t, direct, realisticNode(1))
			for _, want := range []*corev1.Node{realisticNode(0), realisticNode(1)} {
				node := &corev1.Node{}
				cluster.Eventually(t, want.Name+" is in the cache, and ready", patience, func() error {
					err := nodes.Get(t.Context(), client.ObjectKeyFromObject(want), node)
					if err == nil && !Ready(node) {
						err = errors.New("it is not ready")
					}
					return err
				})
				if len(node.Spec.Taints) == 0 || node.Labels["team"] != want.Labels["team"] || len(node.ManagedFields) == 0 {
					t.Errorf("of node %q is kept only %v", node.Name, node)
				}
			}
			events := read()
			if len(events) < 2 {
				t.Errorf("%d states of nodes were read", len(events))
			}
			for _, node := range events {
				if len(node.Status.Images) > 0 || len(node.Status.Capacity) > 0 || len(node.Status.Conditions) > 1 {
					t.Errorf("of node %q all was decoded", node.Name)
				}
			}
		})
	}
}

// cachedNodes is a cache of nodes, and what it has read of nodes so far, before it
// was made small.
func cachedNodes(t *testing.T, config *rest.Config) (nodes cache.Cache, read func() []*corev1.Node) {
	t.Helper()
	var (
		mu  sync.Mutex
		all []*corev1.Node
	)
	nodes, err := newCache(config, cache.Options{}, func(object any) (any, error) {
		if node, isNode := object.(*corev1.Node); isNode {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, node.DeepCopy())
		}
		return Slim(object)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- nodes.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if _, err := nodes.GetInformer(t.Context(), &corev1.Node{}); err != nil {
		t.Fatal(err)
	}
	return nodes, func() []*corev1.Node {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// create makes a node, as large as it is, until the test ends.
func create(t *testing.T, c client.Client, node *corev1.Node) {
	t.Helper()
	status := node.Status
	node.UID, node.ResourceVersion, node.ManagedFields = "", "", nil
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), node); err != nil {
			t.Error(err)
		}
	})
	node.Status = status
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

// TestCacheRefusesWhatItCannotDo: an option that it would pass over is an error.
func TestCacheRefusesWhatItCannotDo(t *testing.T) {
	for name, options := range map[string]cache.Options{
		"labels":    {DefaultLabelSelector: labels.Everything()},
		"fields":    {DefaultFieldSelector: fields.Everything()},
		"transform": {DefaultTransform: cache.TransformStripManagedFields()},
		"by object": {ByObject: map[client.Object]cache.ByObject{&corev1.Node{}: {}}},
	} {
		if _, err := New(&rest.Config{Host: "127.0.0.1"}, options); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(&rest.Config{Host: "127.0.0.1"}, cache.Options{Mapper: meta.NewDefaultRESTMapper(nil)}); err != nil {
		t.Errorf("without any of them: %v", err)
	}
}
