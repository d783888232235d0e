// Package nodecache keeps the nodes of a cluster in memory, reduced to what plans read.
//
// A running node is 12 to 16 KiB: images, conditions, and who owns each field
// of them. Plans need a fifth of that, and thousands of nodes have the same
// labels, taints and owners. So a node is reduced twice: while it is encoded,
// so that what nobody reads is never decoded (trim.go), and before it is kept,
// as a [Node], where nodes come to share what is equal on them (node.go). What
// remains of a heartbeat contains no change, and is not decoded at all (recall.go).
// Start with [New].
package nodecache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// New returns a cache like [cache.New], which keeps each node as a [Node] and all other
// objects whole. It is made for NewCache in the options of a manager. Options
// that select or transform objects are an error: nodes are read as a whole.
//
// Nodes are read by [Cached], and their events have the type [Node]. To read nodes from this
// cache in another way is an error.
//
// The reduction is not an option in ByObject: a manager would then look the
// kind up at the API server when it is created, and could not be created while
// that does not answer.
func New(config *rest.Config, options cache.Options) (cache.Cache, error) {
	options.Scheme = cmp.Or(options.Scheme, scheme.Scheme)
	return newCache(config, options, serializer.NewCodecFactory(options.Scheme).WithoutConversion())
}

// newCache returns a cache that reads nodes through a serializer, trimmed.
func newCache(config *rest.Config, options cache.Options, by runtime.NegotiatedSerializer) (cache.Cache, error) {
	if options.DefaultLabelSelector != nil || options.DefaultFieldSelector != nil || options.DefaultTransform != nil ||
		options.NewInformer != nil || len(options.ByObject)+len(options.DefaultNamespaces) > 0 {
		return nil, errors.New("a cache of reduced nodes takes no selector, transform or informer, and no options by object or namespace")
	}
	config = rest.CopyConfig(config)
	config.UserAgent = cmp.Or(config.UserAgent, rest.DefaultKubernetesUserAgent())
	if options.HTTPClient == nil {
		var err error
		if options.HTTPClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("make an HTTP client for the cache: %w", err)
		}
	}
	nodes, err := nodeClient(config, options.HTTPClient, newTrimming(by))
	if err != nil {
		return nil, err
	}
	options.DefaultTransform = transform
	options.NewInformer = func(objects toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if _, isNode := example.(*corev1.Node); isNode {
			objects = toolscache.NewListWatchFromClient(nodes, "nodes", corev1.NamespaceAll, fields.Everything())
			example = &Node{}
		}
		return toolscache.NewSharedIndexInformer(objects, example, resync, indexers)
	}
	all, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return reducing{all}, nil
}

// reducing is a cache that keeps nodes as [Node], for which its informers can be asked, too.
type reducing struct{ cache.Cache }

// errReduced is that of who would miss what the cache has dropped.
var errReduced = errors.New("this cache has reduced nodes: they are read by nodecache.Cached")

// Get implements [client.Reader].
func (r reducing) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if ofNodes(object) {
		return errReduced
	}
	return r.Cache.Get(ctx, key, object, options...)
}

// List implements [client.Reader].
func (r reducing) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if ofNodes(list) {
		return errReduced
	}
	return r.Cache.List(ctx, list, options...)
}

// ofNodes reports whether an object is a node or a list of nodes, of whichever type.
func ofNodes(object runtime.Object) bool {
	switch object.(type) {
	case *corev1.Node, *corev1.NodeList:
		return true
	}
	kind := object.GetObjectKind().GroupVersionKind()
	return kind.Group == corev1.GroupName && (kind.Kind == "Node" || kind.Kind == "NodeList")
}

// GetInformer implements [cache.Informers].
func (r reducing) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if _, isNode := object.(*Node); isNode {
		object = &corev1.Node{}
	}
	return r.Cache.GetInformer(ctx, object, options...)
}

// nodeClient returns a client that decodes no more of nodes than is kept.
func nodeClient(config *rest.Config, connections *http.Client, by trimming) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	if config.ContentType == "" {
		config.ContentType = runtime.ContentTypeProtobuf
	}
	config.NegotiatedSerializer = by
	client, err := rest.RESTClientForConfigAndClient(config, connections)
	if err != nil {
		return nil, fmt.Errorf("make a client for the cache of nodes: %w", err)
	}
	return client, nil
}
