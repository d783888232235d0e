package nodecache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// timeout bounds every wait.
const timeout = time.Minute

func TestMain(m *testing.M) { cluster.Main(m, cluster.Options{}) }

// TestCacheReadsNoMoreThanItKeeps uses a real API server, which sends the
// existing nodes one by one, or as a list where it is too old for that.
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
				var node *Node
				cluster.Eventually(t, want.Name+" is in the cache, and ready", timeout, func() (err error) {
					node, err = nodes.Node(t.Context(), want.Name)
					if err == nil && !node.Ready {
						err = errors.New("it is not ready")
					}
					return err
				})
				if len(node.Taints) == 0 || node.Labels["team"] != want.Labels["team"] || len(node.ManagedFields) == 0 {
					t.Errorf("of node %q is kept only %v", node.Name, node)
				}
			}
			events := read()
			if len(events) < 2 {
				t.Errorf("%d states of nodes were decoded", len(events))
			}
			for _, node := range events {
				if len(node.Status.Images) > 0 || len(node.Status.Capacity) > 0 || slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
					return c.Reason+c.Message != "" || !c.LastHeartbeatTime.IsZero()
				}) {
					t.Errorf("of node %q all was decoded", node.Name)
				}
			}

			// Of a node that came in an event, heartbeats are recalled.
			beating := &corev1.Node{}
			beat := func() {
				if err := direct.Get(t.Context(), client.ObjectKeyFromObject(realisticNode(1)), beating); err != nil {
					t.Fatal(err)
				}
				for i := range beating.Status.Conditions {
					beating.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(beating.Status.Conditions[i].LastHeartbeatTime.Add(time.Hour))
				}
				if err := direct.Status().Update(t.Context(), beating, client.FieldOwner("kubelet")); err != nil {
					t.Fatal(err)
				}
				cluster.Eventually(t, "the heartbeat is in the cache", timeout, func() error {
					node, err := nodes.Node(t.Context(), beating.Name)
					if err == nil && node.ResourceVersion != beating.ResourceVersion {
						err = fmt.Errorf("the version is %s, want %s", node.ResourceVersion, beating.ResourceVersion)
					}
					return err
				})
			}
			before := len(read())
			for range 5 {
				beat()
			}
			// One may have a version of more digits than the one before.
			if after := len(read()); after > before+1 {
				t.Errorf("%d of 5 heartbeats were decoded", after-before)
			}
		})
	}
}

// recording is a serializer that shows each node that it has decoded, by itself or in
// a list.
type recording struct {
	runtime.NegotiatedSerializer
	show func(*corev1.Node)
}

func (r recording) SupportedMediaTypes() []runtime.SerializerInfo {
	supported := slices.Clone(r.NegotiatedSerializer.SupportedMediaTypes())
	for i := range supported {
		supported[i].Serializer = recordingSerializer{supported[i].Serializer, r.show}
	}
	return supported
}

type recordingSerializer struct {
	runtime.Serializer
	show func(*corev1.Node)
}

func (r recordingSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, kind, err := r.Serializer.Decode(data, defaults, into)
	switch object := object.(type) {
	case *corev1.Node:
		r.show(object.DeepCopy())
	case *corev1.NodeList:
		for i := range object.Items {
			r.show(object.Items[i].DeepCopy())
		}
	}
	return object, kind, err
}

// cachedNodes returns the nodes of a cache, and those that it has decoded so
// far, before they were reduced.
func cachedNodes(t *testing.T, config *rest.Config) (nodes Reader, read func() []*corev1.Node) {
	t.Helper()
	var (
		mu  sync.Mutex
		all []*corev1.Node
	)
	objects, err := newCache(config, cache.Options{Scheme: scheme.Scheme}, recording{plain, func(node *corev1.Node) {
		mu.Lock()
		defer mu.Unlock()
		if node.Name != "" { // or it is a bookmark
			all = append(all, node)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, objects)
	if nodes, err = Cached(objects); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.Nodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	return nodes, func() []*corev1.Node {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// create creates a node, with its status, and deletes it when the test ends.
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

// TestCacheRefusesWhatItCannotDo: an option that it would ignore is an error.
func TestCacheRefusesWhatItCannotDo(t *testing.T) {
	for name, options := range map[string]cache.Options{
		"labels":    {DefaultLabelSelector: labels.Everything()},
		"fields":    {DefaultFieldSelector: fields.Everything()},
		"transform": {DefaultTransform: cache.TransformStripManagedFields()},
		"by object": {ByObject: map[client.Object]cache.ByObject{&corev1.Node{}: {}}},
		"namespace": {DefaultNamespaces: map[string]cache.Config{"default": {}}},
	} {
		if _, err := New(&rest.Config{Host: "127.0.0.1"}, options); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(&rest.Config{Host: "127.0.0.1"}, cache.Options{Mapper: meta.NewDefaultRESTMapper(nil)}); err != nil {
		t.Errorf("without any of them: %v", err)
	}
}

// TestNodesAreReadByReaderAlone: who asks the cache for a node of Kubernetes would miss what
// was dropped, and who asks before it is filled would believe that there is none.
func TestNodesAreReadByReaderAlone(t *testing.T) {
	config := cluster.Shared(t).Config
	direct, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, direct, realisticNode(0))
	objects, nodes := newCached(t, config)
	if found, err := nodes.Nodes(t.Context()); !errors.As(err, new(*cache.ErrCacheNotStarted)) {
		t.Errorf("a cache that has not begun has %d nodes, %v", len(found), err)
	}
	if found, err := nodes.Node(t.Context(), realisticNode(0).Name); !errors.As(err, new(*cache.ErrCacheNotStarted)) {
		t.Errorf("a cache that has not begun has %v, %v", found, err)
	}
	start(t, objects)
	if found, err := nodes.Nodes(t.Context()); err != nil || len(found) != 1 || found[0].Name != realisticNode(0).Name {
		t.Errorf("the cache has %d nodes, %v", len(found), err)
	}
	if _, err := nodes.Node(t.Context(), "missing"); !apierrors.IsNotFound(err) {
		t.Errorf("a node that there is not: %v", err)
	}
	metadata, list := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	for _, object := range []client.Object{&corev1.Node{}, metadata} {
		if err := objects.Get(t.Context(), client.ObjectKey{Name: "missing"}, object); !errors.Is(err, errReduced) {
			t.Errorf("a %T is read from the cache: %v", object, err)
		}
	}
	for _, object := range []client.ObjectList{&corev1.NodeList{}, list} {
		if err := objects.List(t.Context(), object, client.MatchingLabels{"no": "such"}); !errors.Is(err, errReduced) {
			t.Errorf("a %T is read from the cache: %v", object, err)
		}
	}
	if err := objects.List(t.Context(), &corev1.PodList{}); err != nil {
		t.Errorf("other objects are read from the cache: %v", err)
	}
	whole, err := cache.New(config, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Cached(whole); err == nil {
		t.Error("nodes are read from a cache that keeps them whole")
	}
}

// TestJSONIsReducedAsWell: an API server may be asked for another encoding than protobuf.
func TestJSONIsReducedAsWell(t *testing.T) {
	config := rest.CopyConfig(cluster.Shared(t).Config)
	direct, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType = runtime.ContentTypeJSON
	objects, nodes := newCached(t, config)
	create(t, direct, realisticNode(0))
	if _, err := objects.GetInformer(t.Context(), &Node{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	start(t, objects)
	create(t, direct, realisticNode(1))
	for i := range 2 {
		cluster.Eventually(t, "a node is in the cache, and ready", timeout, func() error {
			node, err := nodes.Node(t.Context(), realisticNode(i).Name)
			if err == nil && !node.Ready {
				err = errors.New("it is not ready")
			}
			return err
		})
	}
}

// newCached returns a cache that has not begun, and its nodes.
func newCached(t *testing.T, config *rest.Config) (cache.Cache, Reader) {
	t.Helper()
	objects, err := New(config, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := Cached(objects)
	if err != nil {
		t.Fatal(err)
	}
	return objects, nodes
}

// start starts a cache, until the test ends.
func start(t *testing.T, objects cache.Cache) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- objects.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	waiting, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	if !objects.WaitForCacheSync(waiting) {
		t.Fatal("the cache does not sync")
	}
}
