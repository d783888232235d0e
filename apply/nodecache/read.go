package nodecache

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// Reader reads nodes, as far as plans do. See [Cached] and [Live].
type Reader interface {
	// Node returns a node by its name. The error wraps NotFound where there is none.
	Node(ctx context.Context, name string) (*Node, error)
	// Nodes returns all nodes, in no order.
	Nodes(ctx context.Context) ([]*plan.NodeState, error)
}

// Cached returns a reader of a cache that was made with [New]; all others are an error. Who
// reads waits until a cache that has started is filled.
func Cached(nodes cache.Cache) (Reader, error) {
	own, isOwn := nodes.(reducing)
	if !isOwn {
		return nil, errors.New("this cache keeps whole nodes: it must be made with nodecache.New")
	}
	return cached{own}, nil
}

type cached struct{ cache reducing }

func (c cached) Node(ctx context.Context, name string) (*Node, error) {
	store, err := c.store(ctx)
	if err != nil {
		return nil, err
	}
	found, exists, err := store.GetByKey(name)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return found.(*Node), nil
}

func (c cached) Nodes(ctx context.Context) ([]*plan.NodeState, error) {
	store, err := c.store(ctx)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	all := store.List()
	nodes := make([]*plan.NodeState, len(all))
	for i, node := range all {
		nodes[i] = &node.(*Node).NodeState
	}
	return nodes, nil
}

// store returns the store of the nodes once it is filled: before that, it would look as if
// there were none.
func (c cached) store(ctx context.Context) (toolscache.Store, error) {
	informer, err := c.cache.GetInformer(ctx, &Node{})
	if err != nil {
		return nil, err
	}
	if !informer.HasSynced() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	return informer.(toolscache.SharedIndexInformer).GetStore(), nil // as New has made it
}

// Live returns a reader of the API server, which has nodes in the form in which the cache
// keeps them.
func Live(api client.Reader) Reader { return live{api} }

type live struct{ api client.Reader }

func (l live) Node(ctx context.Context, name string) (*Node, error) {
	node := &corev1.Node{}
	if err := l.api.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return nil, err
	}
	return reduce(node), nil
}

func (l live) Nodes(ctx context.Context) ([]*plan.NodeState, error) {
	var list corev1.NodeList
	if err := l.api.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]*plan.NodeState, len(list.Items))
	for i := range list.Items {
		nodes[i] = &reduce(&list.Items[i]).NodeState
	}
	return nodes, nil
}
