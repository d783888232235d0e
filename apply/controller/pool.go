package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
)

const (
	// statusPeriod is the time in which changes of a pool's figures are gathered
	// into one write of its status.
	statusPeriod = time.Second
	// progressPeriod is how often a status tells how far a change is that takes
	// longer.
	progressPeriod = 5 * time.Second
	// progressGap is the least time between two pools that tell so, and maxTurn how
	// long one waits at most for its turn.
	progressGap = 500 * time.Millisecond
	maxTurn     = 30 * time.Second
	// retryPeriod is how soon a pass comes back for what the cache has not seen
	// yet.
	retryPeriod = 100 * time.Millisecond
	// failurePeriod is how soon a pass comes back to try once more what the API
	// server has refused.
	failurePeriod = maxBackoff
)

// poolWorkers is how many pools are reconciled at once. Of very many that change
// together each has a RuntimeClass, a status and an event to write, and one after the
// other these take longer than the nodes. More workers would only queue up at the API
// server, and in the way of the nodes.
const poolWorkers = 4

// poolLoop keeps the RuntimeClass, the finalizer and the status of pools. What becomes
// of them is decided by [plan.PoolOutcomeOf].
type poolLoop struct {
	client  client.Client
	applier *apply.Applier
	pools   *poolSet
	tally   *tally
	events  events.EventRecorder
	pace    *pace
	// written is, by pool, the resource version that the loop's last write made.
	written perPool[string]
	// created are, by pool, the RuntimeClasses of which there was no event yet.
	created perPool[string]
	// reported are, by pool, the troubles in the status that the loop has written last.
	reported perPool[troubles]
}

// failure is what keeps a pool's own objects from being right.
type failure struct {
	err error
	// retry is set where no event will report that it may succeed now.
	retry bool
}

// Reconcile brings one pool's own objects up to date and reports how far its nodes
// are.
func (l *poolLoop) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool := &v1.NodePool{}
	if err := l.client.Get(ctx, request.NamespacedName, pool); apierrors.IsNotFound(err) {
		l.tally.forgetPool(request.Name)
		l.pace.forget(request.Name)
		l.written.take(request.Name)
		l.created.take(request.Name)
		l.reported.take(request.Name)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if l.pools.gate.isFrozen(pool.Name) {
		return reconcile.Result{}, nil // unfreezing it leads here again
	}
	pools, err := l.pools.snapshot(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if l.behind(pool) || !pools.covers(pool) {
		return reconcile.Result{RequeueAfter: retryPeriod}, nil
	}
	outcome, err := l.outcome(ctx, pool, pools)
	if err != nil {
		return reconcile.Result{}, err
	}
	failed, err := l.execute(ctx, pool, outcome)
	var result reconcile.Result
	if err == nil {
		result, err = l.report(ctx, pool, pools, outcome, failed)
	}
	if apierrors.IsNotFound(err) { // somebody was faster, with a deletion
		return reconcile.Result{RequeueAfter: retryPeriod}, nil
	}
	return result, err
}

// behind reports whether the cache has not seen the loop's own last write of the
// pool yet. What is compared with the state before it may be taken for unchanged,
// and is not.
func (l *poolLoop) behind(pool *v1.NodePool) bool {
	written, _ := l.written.get(pool.Name)
	order, err := resourceversion.CompareResourceVersion(pool.ResourceVersion, written)
	return err == nil && order < 0
}

// outcome reads the RuntimeClass of a pool, and asks the plan what becomes of both.
func (l *poolLoop) outcome(ctx context.Context, pool *v1.NodePool, pools *poolSnapshot) (plan.PoolOutcome, error) {
	live := &nodev1.RuntimeClass{}
	if err := l.client.Get(ctx, types.NamespacedName{Name: v1.RuntimeClassName(pool.Name)}, live); apierrors.IsNotFound(err) {
		live = nil
	} else if err != nil {
		return plan.PoolOutcome{}, err
	}
	return plan.PoolOutcomeOf(pool, pools.Expansion, live), nil
}

// execute writes what an outcome says of the finalizer and the RuntimeClass of a pool.
// The finalizer is removed later, by [poolLoop.report]: that waits for the nodes.
func (l *poolLoop) execute(ctx context.Context, pool *v1.NodePool, outcome plan.PoolOutcome) (*failure, error) {
	if outcome.Finalizer == plan.FinalizerEnsured {
		if err := l.setFinalizer(ctx, pool, controllerutil.AddFinalizer); err != nil {
			return nil, err
		}
	}
	switch {
	case outcome.ClassProblem != nil:
		return &failure{err: outcome.ClassProblem}, nil
	case outcome.RuntimeClass != nil:
		return l.runtimeClass(ctx, pool, *outcome.RuntimeClass)
	}
	return nil, nil
}

func (l *poolLoop) runtimeClass(ctx context.Context, pool *v1.NodePool, change plan.RuntimeClassChange) (*failure, error) {
	version := pool.ResourceVersion
	err := l.applier.RuntimeClass(ctx, pool, change)
	if pool.ResourceVersion != version {
		l.written.set(pool.Name, pool.ResourceVersion)
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return &failure{err: err, retry: true}, nil
	} else if err != nil {
		return nil, err
	}
	switch change.Action {
	case plan.None:
	case plan.Create: // reported with what is done on nodes
		l.created.set(pool.Name, change.Name())
	default:
		l.createdEvent(pool)
		l.event(pool, corev1.EventTypeNormal, "RuntimeClass", string(change.Action), "%s RuntimeClass %s", past(change.Action), change.Name())
	}
	return nil, nil
}

// setFinalizer adds or removes the finalizer in a patch that the API server
// refuses when the pool has changed: the list of finalizers is everybody's.
func (l *poolLoop) setFinalizer(ctx context.Context, pool *v1.NodePool, set func(client.Object, string) bool) error {
	changed := pool.DeepCopy()
	if !set(changed, v1.ReleaseFinalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(pool, client.MergeFromWithOptimisticLock{})
	if err := l.client.Patch(ctx, changed, patch, client.FieldOwner(v1.FieldManager)); err != nil {
		return fmt.Errorf("finalizer of pool %q: %w", pool.Name, err)
	}
	l.written.set(pool.Name, changed.GetResourceVersion())
	return nil
}

// report writes the status when it has changed, and an event for what was done. The
// finalizer of a pool that is being deleted it removes as soon as no node carries
// anything of it; the garbage collector deletes the RuntimeClass with its owner.
//
// While passes over nodes are due it waits for them a little, so that a change which is
// carried out quickly is reported once, and reports now and then how far a longer one
// is; what was done is an event when all is. Before a pass over every node has ended
// since the start it reports nothing: a figure that is not known is not zero.
func (l *poolLoop) report(ctx context.Context, pool *v1.NodePool, pools *poolSnapshot, outcome plan.PoolOutcome, failed *failure) (reconcile.Result, error) {
	if known, err := l.pace.everyNodeLooked(ctx); err != nil || !known {
		return reconcile.Result{RequeueAfter: retryPeriod}, err
	}
	since := pools.pools[pool.Name].since
	if !l.tally.await(pool.Name, since) {
		if wait := l.pace.wait(pool.Name, since); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	figures, settled := l.tally.read(pool.Name, since)
	if settled {
		l.deedEvents(pool, l.tally.drain(pool.Name))
	}
	if settled && outcome.Releases(figures.recorded) {
		l.pools.releaseDone(pool.Name)
		return reconcile.Result{}, client.IgnoreNotFound(l.setFinalizer(ctx, pool, controllerutil.RemoveFinalizer))
	}
	var result reconcile.Result
	switch {
	case !settled:
		result.RequeueAfter = progressPeriod
	case failed != nil && failed.retry:
		result.RequeueAfter = failurePeriod
	}
	return result, l.writeStatus(ctx, pool, poolFacts{outcome: outcome, figures: figures, settled: settled, failed: failed})
}

func (l *poolLoop) writeStatus(ctx context.Context, pool *v1.NodePool, facts poolFacts) error {
	status, found := poolStatus(pool, facts)
	if equality.Semantic.DeepEqual(pool.Status, status) {
		return nil
	}
	changed := pool.DeepCopy()
	changed.Status = status
	if err := l.client.Status().Patch(ctx, changed, client.MergeFrom(pool), client.FieldOwner(v1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("status of pool %q: %w", pool.Name, err))
	}
	l.written.set(pool.Name, changed.ResourceVersion)
	l.conditionEvents(pool, status, found)
	l.contestEvents(pool, status)
	return nil
}
