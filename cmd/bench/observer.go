package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// observer is a bare informer on nodes, which reports when each node is as it is
// expected. All that is compared is seen by it alone, the program and what it is
// measured against, so that what it costs is the same for all.
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
	held        []time.Time      // when it came to hold for each
	first, last time.Time        // and for the first and the last
	done        chan struct{}
}

// observing returns an observer that has seen all nodes. It ends with the context.
func observing(ctx context.Context, client kubernetes.Interface) (*observer, error) {
	nodes := client.CoreV1().Nodes()
	o := &observer{added: map[string]time.Time{}}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return nodes.List(ctx, options)
		},
		WatchFuncWithContext: nodes.Watch,
	}
	o.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, client), &corev1.Node{}, 0, nil)
	if err := o.informer.SetTransform(bareOfStatus); err != nil {
		return nil, fmt.Errorf("observe nodes: %w", err)
	}
	_, err := o.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { o.see(object, true) },
		UpdateFunc: func(_, object any) { o.see(object, false) },
	})
	if err != nil {
		return nil, fmt.Errorf("observe nodes: %w", err)
	}
	go o.informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), o.informer.HasSynced) {
		return nil, fmt.Errorf("observe nodes: %w", context.Cause(ctx))
	}
	return o, nil
}

// bareOfStatus drops what nobody looks at here and what makes up most of a node.
func bareOfStatus(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.Status, node.ManagedFields = corev1.NodeStatus{}, nil
	}
	return object, nil
}

func (o *observer) see(object any, added bool) {
	now := time.Now()
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if added {
		o.added[node.Name] = now
	}
	if o.waiting != nil {
		o.waiting.see(node, now)
	}
}

// expect begins to wait for a check to hold for the nodes. A node for which it
// holds already does not have to change.
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
	e.held = append(e.held, now)
	delete(e.pending, node.Name)
	if len(e.pending) == 0 {
		e.last = now
		e.o.waiting = nil
		close(e.done)
	}
}

// wait returns when the check has come to hold for every node.
func (e *expectation) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	e.o.mu.Lock()
	defer e.o.mu.Unlock()
	for _, err := range e.pending {
		return fmt.Errorf("%s: not within %s: %d nodes left, of which one: %w", e.what, limit, len(e.pending), err)
	}
	return nil
}

// before is for how many nodes the check came to hold before a time, as far as the observer,
// which sees nodes some milliseconds after they are written, had seen them by then. It is
// called after [expectation.wait].
func (e *expectation) before(t time.Time) (count int) {
	for _, held := range e.held {
		if held.Before(t) {
			count++
		}
	}
	return count
}

// addedAt is when the observer first saw a node; ok is false where it has not.
func (o *observer) addedAt(name string) (at time.Time, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok = o.added[name]
	return at, ok
}
