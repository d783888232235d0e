package controller

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// gatherPeriod is how long changes of pools are gathered before nodes follow.
const gatherPeriod = 20 * time.Millisecond

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// addTo watches nodes, and pools for what they mean to nodes.
func (l *nodeLoop) addTo(mgr manager.Manager, concurrency int) error {
	keep := source.Func(func(_ context.Context, queue requestQueue) error {
		l.queue = queue
		l.pools.onUnfreeze(func([]string) { queue.Add(poolsChanged) })
		return nil
	})
	return builder.ControllerManagedBy(mgr).
		Named("node").
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, RateLimiter: newRateLimiter()}).
		Watches(&corev1.Node{}, l.nodeEvents(), builder.WithPredicates(relevantToPlan)).
		Watches(&v1.NodePool{}, l.poolEvents(), builder.WithPredicates(relevantToNodes)).
		WatchesRawSource(keep).
		Complete(withBackoff(l))
}

func (l *nodeLoop) nodeEvents() handler.EventHandler {
	enqueue := func(node client.Object, queue requestQueue) {
		queue.Add(requestFor(node.GetName()))
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue requestQueue) {
			l.tally.expect(e.Object.GetName(), l.pools.latest())
			enqueue(e.Object, queue)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue requestQueue) {
			l.instances.changed(e.ObjectOld, e.ObjectNew)
			enqueue(e.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue requestQueue) { enqueue(e.Object, queue) },
	}
}

// poolEvents lead to the nodes that the change of a pool concerns. They are
// gathered for a moment, so that a commit which changes many pools costs each node
// one pass.
func (l *nodeLoop) poolEvents() handler.EventHandler {
	gather := func(pool client.Object, queue requestQueue) {
		if l.pools.changed(pool.GetName()) {
			queue.AddAfter(poolsChanged, gatherPeriod)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue requestQueue) { gather(e.Object, queue) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue requestQueue) { gather(e.ObjectNew, queue) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue requestQueue) { gather(e.Object, queue) },
	}
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// relevantToPlan lets through the node events that a plan or a figure can
// depend on. Kubelets write the status of their nodes all the time. That
// somebody else has a value that stays the same is news for who reports it.
var relevantToPlan = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		if !okBefore || !okAfter {
			return true
		}
		return before.UID != after.UID ||
			!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
			!slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, func(a, b corev1.Taint) bool {
				return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value
			}) ||
			nodecache.Ready(before) != nodecache.Ready(after) || !sameSetters(before, after)
	},
}

// relevantToNodes lets through the pool events that nodes have to follow.
var relevantToNodes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return versionOf(e.ObjectOld) != versionOf(e.ObjectNew) },
}

// sameSetters tells whether the same others own the same labels, annotations and
// taints of two cached states of a node. What we own follows from what we write,
// and is no news.
func sameSetters(before, after *corev1.Node) bool {
	others := func(node *corev1.Node) []metav1.ManagedFieldsEntry {
		return slices.DeleteFunc(slices.Clone(node.ManagedFields), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == v1.FieldManager
		})
	}
	return slices.EqualFunc(others(before), others(after), func(a, b metav1.ManagedFieldsEntry) bool {
		return a.Manager == b.Manager && a.Operation == b.Operation && bytes.Equal(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes())
	})
}
