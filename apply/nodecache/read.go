package nodecache

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// Node is a node as the cache has it. Nodes share what is equal on them, so nobody may
// change one.
type Node struct {
	*plan.NodeState
	// Ready reports whether the node has the condition Ready.
	Ready bool
}

// Of returns the node of an object of a cache, such as that of an event.
func Of(object client.Object) (*Node, bool) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return nil, false
	}
	return &Node{NodeState: nodeStateOf(node), Ready: ready(node)}, true
}

// Get returns a node of a cache that was made with [New]. The error wraps NotFound
// where there is none.
func Get(ctx context.Context, cached client.Reader, name string) (*Node, error) {
	node := &corev1.Node{}
	if err := cached.Get(ctx, types.NamespacedName{Name: name}, node, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	found, _ := Of(node)
	return found, nil
}

// GetLive returns a node of the API server, in the form in which the cache keeps it.
func GetLive(ctx context.Context, live client.Reader, name string) (*Node, error) {
	node := &corev1.Node{}
	if err := live.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
		return nil, err
	}
	slim(node)
	found, _ := Of(node)
	return found, nil
}

// List returns all nodes of a cache that was made with [New].
func List(ctx context.Context, cached client.Reader) ([]*plan.NodeState, error) {
	var list corev1.NodeList
	if err := cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]*plan.NodeState, len(list.Items))
	for i := range list.Items {
		nodes[i] = nodeStateOf(&list.Items[i])
	}
	return nodes, nil
}
