package nodes

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// CoalescePeriod is how long changes of pools are gathered before nodes follow, so that
// a commit which changes many pools costs each node one pass.
const CoalescePeriod = 20 * time.Millisecond

// AddTo adds the reconciler to a manager: it watches nodes, and the pools of the fleet
// for what they mean to nodes.
func (r *Reconciler) AddTo(mgr manager.Manager, concurrency int) error {
	return builder.ControllerManagedBy(mgr).
		Named("node").
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, RateLimiter: loop.NewRateLimiter()}).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &nodecache.Node{}, r.events(), relevantToPlan)).
		WatchesRawSource(r.fleet.Requests(fleet.Definition, CoalescePeriod, r.follow)).
		WatchesRawSource(source.Func(r.giveTurns)).
		Complete(loop.WithBackoff(r))
}

func (r *Reconciler) events() handler.TypedEventHandler[*nodecache.Node, reconcile.Request] {
	enqueue := func(node *nodecache.Node, queue loop.Queue) {
		queue.Add(loop.RequestFor(node.Name))
	}
	return handler.TypedFuncs[*nodecache.Node, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*nodecache.Node], queue loop.Queue) {
			r.fleet.Expect(e.Object.Name)
			r.pending.add(e.Object.Name, metrics.NodeJoined)
			enqueue(e.Object, queue)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*nodecache.Node], queue loop.Queue) {
			r.instances.changed(e.ObjectOld, e.ObjectNew)
			r.pending.add(e.ObjectNew.Name, metrics.NodeChanged)
			enqueue(e.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*nodecache.Node], queue loop.Queue) {
			enqueue(e.Object, queue)
		},
	}
}

// follow puts the nodes into the queue that a change of pools concerns, behind those to
// which something has happened by themselves.
func (r *Reconciler) follow(ctx context.Context, _ fleet.Changes, queue loop.Queue) error {
	return r.fleet.Follow(ctx, func(node string) {
		r.pending.add(node, metrics.PoolChanged)
		if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}, loop.RequestFor(node))
			return
		}
		queue.Add(loop.RequestFor(node))
	})
}

// giveTurns puts the nodes into the queue whose turn it is to follow their pools.
func (r *Reconciler) giveTurns(ctx context.Context, queue loop.Queue) error {
	go r.fleet.GiveTurns(ctx, r.earlier, func(node string) { queue.Add(loop.RequestFor(node)) })
	return nil
}

// relevantToPlan passes the node events that a plan or a count can
// depend on. Kubelets write the status of their nodes all the time. That
// somebody else has set a value that stays the same is news for who reports it.
var relevantToPlan = predicate.TypedFuncs[*nodecache.Node]{
	UpdateFunc: func(e event.TypedUpdateEvent[*nodecache.Node]) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.UID != after.UID ||
			!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
			!slices.EqualFunc(before.Taints, after.Taints, func(a, b corev1.Taint) bool {
				return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value
			}) ||
			before.Ready != after.Ready || before.Unschedulable != after.Unschedulable || before.Conditions != after.Conditions || !sameSetters(&before.NodeState, &after.NodeState)
	},
}

// sameSetters reports whether the same others own the same labels, annotations and
// taints of two cached states of a node. What we own follows from what we write,
// and is no news.
func sameSetters(before, after *plan.NodeState) bool {
	others := func(node *plan.NodeState) []metav1.ManagedFieldsEntry {
		return slices.DeleteFunc(slices.Clone(node.ManagedFields), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == v1.FieldManager
		})
	}
	return slices.EqualFunc(others(before), others(after), func(a, b metav1.ManagedFieldsEntry) bool {
		return a.Manager == b.Manager && a.Operation == b.Operation && bytes.Equal(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes())
	})
}
