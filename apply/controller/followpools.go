package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// poolsChanged stands in the queue of nodes for a change of pools. No node has an
// empty name.
var poolsChanged = reconcile.Request{}

// followPools leads from the pools that have changed to the nodes which they
// concern, and puts those into the queue. They give way to nodes to which
// something has happened by themselves. All others count as looked at: a pass over
// them would find what the last one has found.
func (l *nodeLoop) followPools(ctx context.Context) error {
	pools, err := l.pools.snapshot(ctx)
	if err != nil {
		return err
	}
	var rest []lastLook
	for _, last := range l.tally.begin(pools.epoch) {
		if pools.changedFor(last.note) {
			l.enqueue(last.node)
		} else {
			rest = append(rest, last)
		}
	}
	if pools.regrouped(l.followed) {
		if rest, err = l.enqueueMoved(ctx, pools, rest); err != nil {
			return err
		}
	}
	l.tally.advance(rest, pools.epoch)
	l.followHolds(pools)
	l.followed = pools
	return nil
}

// followHolds leads to the pools that are held now and were not, or the other way
// round, and comes back when it is known which pools are deleted together.
func (l *nodeLoop) followHolds(pools *poolSnapshot) {
	var before heldPools
	if l.followed != nil {
		before = l.followed.held
	}
	for _, pool := range pools.held.differences(before) {
		l.tally.notify(pool)
	}
	if len(pools.held.gathered) > 0 {
		l.queue.AddAfter(poolsChanged, max(time.Until(pools.held.until), gatherPeriod))
	}
}

// enqueueMoved puts the nodes into the queue that are in other pools than they
// were, and returns the others.
func (l *nodeLoop) enqueueMoved(ctx context.Context, pools *poolSnapshot, looks []lastLook) ([]lastLook, error) {
	var nodes corev1.NodeList
	if err := l.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	stays := make(map[string]bool, len(nodes.Items))
	members := map[string][]string{}
	for _, last := range looks {
		members[last.node] = last.members
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		now, err := plan.Members(node, pools.Expansion)
		stays[node.Name] = err == nil && slices.Equal(now, members[node.Name])
	}
	return slices.DeleteFunc(looks, func(last lastLook) bool {
		if !stays[last.node] {
			l.enqueue(last.node)
		}
		return !stays[last.node]
	}), nil
}

// enqueue puts a node into the queue behind those to which something has happened
// by themselves.
func (l *nodeLoop) enqueue(node string) {
	l.tally.owe(node)
	if queue, ok := l.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}, requestFor(node))
		return
	}
	l.queue.Add(requestFor(node))
}

// changedFor tells whether a pool that a node is in, or carries keys of, is
// another one than when the node was looked at.
func (s *poolSnapshot) changedFor(n *note) bool {
	changed := func(name string) bool {
		state, found := s.pools[name]
		return !found || state.since > n.epoch
	}
	return slices.ContainsFunc(n.members, changed) || slices.ContainsFunc(n.recorded, changed)
}

// regrouped tells whether nodes may be in other pools than by an earlier snapshot:
// pools have come or gone, or choose their members in another way.
func (s *poolSnapshot) regrouped(before *poolSnapshot) bool {
	if before == nil || len(s.pools) != len(before.pools) || len(s.held.differences(before.held)) > 0 {
		return true
	}
	for name, is := range s.pools {
		was, known := before.pools[name]
		if !known || is.since > before.epoch && !sameMembers(was.definition, is.definition) {
			return true
		}
	}
	return false
}

// sameMembers tells whether two definitions of a pool choose the same nodes, the
// pools around it left aside.
func sameMembers(a, b *v1.NodePool) bool {
	return a.UID == b.UID && a.Spec.Parent == b.Spec.Parent && plan.Releasing(a) == plan.Releasing(b) &&
		slices.Equal(a.Spec.NodeNames, b.Spec.NodeNames) && equality.Semantic.DeepEqual(a.Spec.Selector, b.Spec.Selector)
}
