package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// observer is a bare informer of nodes. It reports when each node is as expected, for the
// program and for what it is compared with: so its own cost is the same for all.
type observer struct {
	informer cache.SharedIndexInformer

	mu      sync.Mutex
	waiting *expectation // nil while nothing is expected
	added   map[string]time.Time
}

// expectation is that a check comes to hold for some nodes.
type expectation struct {
	o     *observer
	what  string
	check func(*corev1.Node) error

	pending     map[string]error // the nodes for which it does not hold yet, and why
	first, last time.Time        // when it came to hold for the first and the last node
	done        chan struct{}
}

// observing returns an observer that has seen all nodes. It ends with the context.
func observing(ctx context.Context, client kubernetes.Interface) (*observer, error) {
	o := &observer{added: map[string]time.Time{}}
	o.informer = informers.NewSharedInformerFactory(client, 0).Core().V1().Nodes().Informer()
	err := o.informer.SetTransform(func(object any) (any, error) {
		if node, ok := object.(*corev1.Node); ok { // what nobody reads here is most of a node
			node.Status, node.ManagedFields = corev1.NodeStatus{}, nil
		}
		return object, nil
	})
	if err == nil {
		_, err = o.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { o.see(object.(*corev1.Node), true) },
			UpdateFunc: func(_, object any) { o.see(object.(*corev1.Node), false) },
		})
	}
	if err != nil {
		return nil, fmt.Errorf("observe nodes: %w", err)
	}
	go o.informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), o.informer.HasSynced) {
		return nil, fmt.Errorf("observe nodes: %w", context.Cause(ctx))
	}
	return o, nil
}

func (o *observer) see(node *corev1.Node, added bool) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if added {
		o.added[node.Name] = now
	}
	if o.waiting != nil {
		o.waiting.see(node, now)
	}
}

// expect begins to wait for a check to hold for the nodes. A node for which the check holds
// already does not have to change.
func (o *observer) expect(what string, names []string, check func(*corev1.Node) error) *expectation {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := &expectation{o: o, what: what, check: check, pending: make(map[string]error, len(names)), done: make(chan struct{})}
	for _, name := range names {
		e.pending[name] = fmt.Errorf("node %q is not there", name)
	}
	o.waiting = e
	now := time.Now()
	for _, object := range o.informer.GetStore().List() {
		e.see(object.(*corev1.Node), now)
	}
	return e
}

func (e *expectation) see(node *corev1.Node, now time.Time) {
	if _, expected := e.pending[node.Name]; !expected {
		return
	}
	if err := e.check(node); err != nil {
		e.pending[node.Name] = err
		return
	}
	if e.first.IsZero() {
		e.first = now
	}
	delete(e.pending, node.Name)
	if len(e.pending) == 0 {
		e.last = now
		e.o.waiting = nil
		close(e.done)
	}
}

// wait returns when the check has come to hold for every node.
func (e *expectation) wait(ctx context.Context, limit time.Duration) error {
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
	}
	e.o.mu.Lock()
	defer e.o.mu.Unlock()
	for _, err := range e.pending {
		return fmt.Errorf("%s: not within %s: %d nodes left, such as: %w", e.what, limit, len(e.pending), err)
	}
	return nil
}

// addedAt is when the observer first saw a node; zero when it has not.
func (o *observer) addedAt(name string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.added[name]
}
