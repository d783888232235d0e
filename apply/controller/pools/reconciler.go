// Package pools keeps what belongs to a pool itself: its RuntimeClass, its finalizer, its
// status and its events, one pass for each pool that has changed, or whose nodes have.
// What becomes of a pool is decided by [plan.PoolOutcomeOf]. Start with
// [Reconciler.Reconcile].
package pools

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
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// failurePeriod is how soon a pass comes back to try once more what the API server has
// refused.
const failurePeriod = loop.MaxBackoff

// workers is how many pools are reconciled at once. Of very many that change together
// each has a RuntimeClass, a status and an event to write, and one after the other these
// take longer than the nodes. More workers would only queue up at the API server, and in
// the way of the nodes.
const workers = 4

// Reconciler keeps the RuntimeClass, the finalizer and the status of pools. Make one with
// [New].
type Reconciler struct {
	client   client.Client
	applier  *apply.Applier
	fleet    *fleet.Fleet
	events   events.EventRecorder
	progress *progress
	now      func() time.Time
	// written is, by pool, the resource version that the reconciler's last write made.
	written perPool[string]
	// classes are, by pool, what was done to RuntimeClasses of which there was no event yet.
	classes perPool[plan.Action]
	// reported are, by pool, the troubles in the status that was written last.
	reported perPool[troubles]
	// pods lists pods without a node, and former are, by pool, the RuntimeClasses that they may
	// have been created with; see [Reconciler.WithPods].
	pods   func(ctx context.Context, class string) ([]plan.WaitingPod, error)
	former perPool[former]
}

// New returns a reconciler of the pools that a client reads and writes.
func New(c client.Client, view *fleet.Fleet, recorder events.EventRecorder) *Reconciler {
	return &Reconciler{client: c, applier: apply.New(c), fleet: view, events: recorder, progress: newProgress(), now: time.Now}
}

// failure is what keeps a pool's own objects from being right.
type failure struct {
	err error
	// retry is set where no event will report that it may succeed now.
	retry bool
}

// Reconcile brings one pool's own objects up to date and reports how far its nodes
// are.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool := &v1.NodePool{}
	if err := r.client.Get(ctx, request.NamespacedName, pool); apierrors.IsNotFound(err) {
		r.fleet.ForgetPool(request.Name)
		r.progress.forget(request.Name)
		r.written.take(request.Name)
		r.classes.take(request.Name)
		r.reported.take(request.Name)
		r.former.take(request.Name)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	pools, err := r.fleet.Snapshot(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if r.behind(pool) || !pools.IsMadeFrom(pool) {
		return reconcile.Result{RequeueAfter: loop.RetryPeriod}, nil
	}
	switch {
	case pools.Accepted.Accepts(pool.Name):
		return reconcile.Result{}, r.accept(ctx, pool) // which leads here again
	case pools.Drops(pool):
		return reconcile.Result{}, r.applier.DropPool(ctx, pool)
	}
	outcome, err := r.outcome(ctx, pool, pools)
	if err != nil {
		return reconcile.Result{}, err
	}
	failed, err := r.execute(ctx, pool, outcome)
	var result reconcile.Result
	if err == nil {
		result, err = r.report(ctx, pool, pools, outcome, failed)
		if outcome.Undecided {
			result.RequeueAfter = loop.Sooner(result.RequeueAfter, loop.RetryPeriod)
		}
		if wait := outcome.ClassWait; wait != nil {
			result.RequeueAfter = loop.Sooner(result.RequeueAfter, loop.UntilOpening(wait.Until, r.now()))
		}
	}
	if apierrors.IsNotFound(err) { // somebody was faster, with a deletion
		return reconcile.Result{RequeueAfter: loop.RetryPeriod}, nil
	}
	return result, err
}

// accept writes that a pool is accepted as it is, if it is that still. From then on nodes
// follow it, so that it needs the finalizer before.
func (r *Reconciler) accept(ctx context.Context, pool *v1.NodePool) error {
	if pool.DeletionTimestamp.IsZero() {
		kept, err := loop.SetFinalizer(ctx, r.client, pool, v1.ReleaseFinalizer, controllerutil.AddFinalizer)
		if err != nil {
			return client.IgnoreNotFound(fmt.Errorf("finalizer of pool %q: %w", pool.Name, err))
		}
		pool = kept
	}
	changed := pool.DeepCopy()
	changed.Status.Accepted = plan.AcceptedSpecOf(pool)
	loop.Conditions{List: &changed.Status.Conditions, Generation: pool.Generation}.SetReleaseBlocked(nil)
	patch := client.MergeFromWithOptions(pool, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, changed, patch, client.FieldOwner(v1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("status of pool %q: %w", pool.Name, err))
	}
	r.written.set(pool.Name, changed.ResourceVersion)
	return nil
}

// behind reports whether the cache has not seen the reconciler's own last write of the
// pool yet. What is compared with the state before it may be taken for unchanged,
// and is not.
func (r *Reconciler) behind(pool *v1.NodePool) bool {
	written, _ := r.written.get(pool.Name)
	order, err := resourceversion.CompareResourceVersion(pool.ResourceVersion, written)
	return err == nil && order < 0
}

// outcome reads the RuntimeClass of a pool, and asks the plan what becomes of both.
func (r *Reconciler) outcome(ctx context.Context, pool *v1.NodePool, pools *fleet.Snapshot) (plan.PoolOutcome, error) {
	live := &nodev1.RuntimeClass{}
	if err := r.client.Get(ctx, types.NamespacedName{Name: v1.RuntimeClassName(pool.Name)}, live); apierrors.IsNotFound(err) {
		live = nil
	} else if err != nil {
		return plan.PoolOutcome{}, err
	}
	facts, err := r.facts(ctx, pool, pools)
	if err != nil {
		return plan.PoolOutcome{}, err
	}
	return plan.PoolOutcomeOf(pool, pools.Accepted, pools.Expansion, live, facts), nil
}

// execute writes what an outcome says of the finalizer and the RuntimeClass of a pool.
// The finalizer is removed later, by [Reconciler.report]: that waits for the nodes.
func (r *Reconciler) execute(ctx context.Context, pool *v1.NodePool, outcome plan.PoolOutcome) (*failure, error) {
	if outcome.Finalizer == plan.FinalizerEnsured {
		if err := r.setFinalizer(ctx, pool, controllerutil.AddFinalizer); err != nil {
			return nil, err
		}
	}
	switch {
	case outcome.ClassProblem != nil:
		return &failure{err: outcome.ClassProblem}, nil
	case outcome.RuntimeClass != nil:
		return r.runtimeClass(ctx, pool, *outcome.RuntimeClass)
	}
	return nil, nil
}

func (r *Reconciler) runtimeClass(ctx context.Context, pool *v1.NodePool, change plan.RuntimeClassChange) (*failure, error) {
	version := pool.ResourceVersion
	err := r.applier.RuntimeClass(ctx, pool, change)
	if pool.ResourceVersion != version {
		r.written.set(pool.Name, pool.ResourceVersion)
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return &failure{err: err, retry: true}, nil
	} else if err != nil {
		return nil, err
	}
	if change.Action != plan.None {
		log.FromContext(ctx).V(1).Info("wrote RuntimeClass", "runtimeClass", change.Name(), "action", string(change.Action), "revision", pool.Annotations[v1.RevisionAnnotation])
	}
	r.noteFormer(pool.Name, change)
	switch change.Action {
	case plan.None:
	case plan.Create, plan.Update: // reported with what is done on nodes
		if before, _ := r.classes.get(pool.Name); before != plan.Create {
			r.classes.set(pool.Name, change.Action)
		}
	default:
		r.classEvent(pool)
		r.event(pool, corev1.EventTypeNormal, "RuntimeClass", string(change.Action), "%s", classChanged(pool, change.Action))
	}
	return nil, nil
}

func (r *Reconciler) setFinalizer(ctx context.Context, pool *v1.NodePool, set func(client.Object, string) bool) error {
	changed, err := loop.SetFinalizer(ctx, r.client, pool, v1.ReleaseFinalizer, set)
	if err != nil {
		return fmt.Errorf("finalizer of pool %q: %w", pool.Name, err)
	}
	r.written.set(pool.Name, changed.ResourceVersion)
	return nil
}

// report writes the status when it has changed, and an event for what was done. The
// finalizer of a pool that is being deleted it removes as soon as no node carries
// anything of it; the garbage collector deletes the RuntimeClass with its owner.
//
// While passes over nodes are due it waits for them a little, so that a change which is
// carried out quickly is reported once, and reports now and then how far a longer one
// is; what was done is an event when all is. Before a pass over every node has ended
// since the start it reports nothing: a count that is not known is not zero.
func (r *Reconciler) report(ctx context.Context, pool *v1.NodePool, pools *fleet.Snapshot, outcome plan.PoolOutcome, failed *failure) (reconcile.Result, error) {
	if known, err := r.fleet.EveryNodeObserved(ctx); err != nil || !known {
		return reconcile.Result{RequeueAfter: loop.RetryPeriod}, err
	}
	since := pools.Since(pool.Name)
	if !r.fleet.Await(pool.Name, since) {
		if wait := r.progress.wait(pool.Name, since); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	counts, settled := r.fleet.Counts(pool.Name, since)
	if settled {
		r.resultEvents(pool, r.fleet.Results(pool.Name))
	}
	if settled && outcome.Releases(counts.Recorded) {
		return reconcile.Result{}, client.IgnoreNotFound(r.setFinalizer(ctx, pool, controllerutil.RemoveFinalizer))
	}
	var result reconcile.Result
	switch {
	case !settled:
		result.RequeueAfter = progressPeriod
	case failed != nil && failed.retry:
		result.RequeueAfter = failurePeriod
	}
	if again := r.strandedEvent(ctx, pool, pools, outcome, settled && counts.Waiting() == 0); again > 0 {
		result.RequeueAfter = loop.Sooner(result.RequeueAfter, again)
	}
	rollouts := r.turnsOf(pool, pools, counts)
	return result, r.writeStatus(ctx, pool, poolFacts{
		outcome: outcome, counts: counts, settled: settled, accepted: pools.As(pool.Name), around: pools.Around(pool.Name), follows: pools.Follows(pool), failed: failed, rollouts: pools.Rollouts, rolloutFacts: rollouts,
	})
}

func (r *Reconciler) writeStatus(ctx context.Context, pool *v1.NodePool, facts poolFacts) error {
	status, found := poolStatus(pool, facts)
	if equality.Semantic.DeepEqual(pool.Status, status) {
		return nil
	}
	changed := pool.DeepCopy()
	changed.Status = status
	if err := r.client.Status().Patch(ctx, changed, client.MergeFrom(pool), client.FieldOwner(v1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("status of pool %q: %w", pool.Name, err))
	}
	r.written.set(pool.Name, changed.ResourceVersion)
	r.conditionEvents(pool, status, found)
	r.contestEvents(pool, status)
	r.rolloutEvents(pool, status, facts)
	return nil
}
