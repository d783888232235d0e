package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
)

// sourcesAtOnce is how many repositories are looked at at the same time, so that
// one that hangs does not hold up the others.
const sourcesAtOnce = 8

// sourceLoop takes the pools of repositories into the cluster. What becomes of a source
// is decided by [plan.SourceOutcomeOf], and what becomes of a revision by
// [plan.RevisionOutcomeOf].
type sourceLoop struct {
	client client.Client
	// live reads past the cache.
	live    client.Reader
	applier *apply.Applier
	pools   *poolSet
	events  events.EventRecorder
	now     func() time.Time
	// fetchTimeout, maxRetry and namespace are those of Options.
	fetchTimeout, maxRetry time.Duration
	namespace              string

	// writing is held from a plan to its last write. Two sources that bring the
	// same new pools would else each make some, and then neither could go on.
	writing sync.Mutex

	mu    sync.Mutex
	looks map[string]*look // by the name of the source
}

// addTo watches sources, and the pools that came from them.
func (l *sourceLoop) addTo(mgr manager.Manager) error {
	l.pools.onPartial = func(source, revision string) { l.reportPartial(mgr.GetLogger(), source, revision) }
	changedByHand := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return builder.ControllerManagedBy(mgr).
		Named("source").
		WithOptions(controller.Options{MaxConcurrentReconciles: sourcesAtOnce, RateLimiter: newRateLimiter()}).
		For(&v1.NodePoolSource{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletionBegan, finalizersChanged))).
		Watches(&v1.NodePool{}, l.poolEvents(), builder.WithPredicates(changedByHand)).
		Complete(withBackoff(l))
}

// poolEvents lead to the sources that a pool names as its owner, by UID or by name.
// They wait a little: a pass writes its pools one after the other, and the cache
// follows.
func (l *sourceLoop) poolEvents() handler.Funcs {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue requestQueue) {
			l.enqueueSources(ctx, e.ObjectOld, queue)
			l.enqueueSources(ctx, e.ObjectNew, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue requestQueue) {
			l.enqueueSources(ctx, e.Object, queue)
		},
	}
}

func (l *sourceLoop) enqueueSources(ctx context.Context, pool client.Object, queue requestQueue) {
	named := pool.GetLabels()[v1.SourceLabel]
	if named != "" {
		queue.AddAfter(requestFor(named), retryPeriod)
	}
	uid := types.UID(pool.GetAnnotations()[v1.SourceUIDAnnotation])
	if uid == "" {
		return
	}
	var sources v1.NodePoolSourceList
	if err := l.client.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "list sources", "pool", pool.GetName())
		return
	}
	for i := range sources.Items {
		if src := &sources.Items[i]; src.UID == uid && src.Name != named {
			queue.AddAfter(requestFor(src.Name), retryPeriod)
		}
	}
}

// Reconcile takes one pass over one source: look at the repository when it is
// time, bring the NodePools to the last good revision, and say how it went.
//
// A pass that ends in a conflict, or with a revision that is written in part, is
// soon repeated, and until then nobody follows what it has written: see [revisionGate].
func (l *sourceLoop) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	if err := l.pools.resume(ctx); err != nil {
		return reconcile.Result{}, err
	}
	unfinished := false
	defer func() {
		if !unfinished && err == nil {
			err = l.pools.unfreeze(ctx, request.Name)
		}
	}()
	src := &v1.NodePoolSource{}
	if err := l.client.Get(ctx, request.NamespacedName, src); apierrors.IsNotFound(err) {
		l.forget(request.Name)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	outcome := plan.SourceOutcomeOf(src)
	switch state := outcome.State(); state {
	case plan.SourceStateDeleted:
		l.forget(request.Name)
		return reconcile.Result{}, nil
	case plan.SourceStateDeleting:
		l.forget(request.Name)
		return l.leave(ctx, src)
	case plan.SourceStateSuspended, plan.SourceStatePaused:
		return reconcile.Result{}, l.tell(ctx, src, sourceFacts{pause: pauseOf(state)})
	case plan.SourceStateActive:
	}
	notHeld := l.hold(ctx, src, outcome)
	if apply.IsConflict(notHeld) || apierrors.IsNotFound(notHeld) {
		return reconcile.Result{}, client.IgnoreNotFound(notHeld)
	}
	seen := l.lookOf(src)
	if l.due(src, seen) {
		seen = l.look(ctx, src, seen)
		// A look takes time. What it was taken for may no longer hold.
		if changed, err := l.changed(ctx, src); err != nil || changed {
			unfinished = true // it may be; the pass that follows knows
			return reconcile.Result{}, err
		}
		l.remember(src, seen)
	}
	facts := l.carryOut(ctx, src, seen)
	facts.partly = facts.failure != nil && l.pools.gate.freezes(src.Name)
	if isSoonOver(facts.failure) {
		return reconcile.Result{}, facts.failure
	}
	unfinished = facts.unfinished(src, l.pools.gate.writes(src.Name))
	notWritten, refused := facts.failure, facts.isRefused()
	if facts.failure == nil {
		facts.failure = notHeld
	}
	if err := l.tell(ctx, src, facts); err != nil {
		return reconcile.Result{}, err
	}
	if unfinished && notWritten != nil && !refused {
		return reconcile.Result{}, fmt.Errorf("source %q: %w: %w", src.Name, errUnfinished, notWritten)
	}
	return reconcile.Result{RequeueAfter: l.next(src, seen, facts.failure)}, nil
}

// changed reports whether a source is no longer the one that a pass began with, or
// the loops are to end. The change has led to a pass of its own.
func (l *sourceLoop) changed(ctx context.Context, src *v1.NodePoolSource) (bool, error) {
	if ctx.Err() != nil {
		return true, nil
	}
	now := &v1.NodePoolSource{}
	if err := l.client.Get(ctx, client.ObjectKeyFromObject(src), now); apierrors.IsNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	return now.UID != src.UID || now.Generation != src.Generation || plan.SourceOutcomeOf(now).State() != plan.SourceStateActive, nil
}

// carryOut brings the NodePools to the last good revision. That repairs what was
// changed by hand, too, so it is done in every pass.
func (l *sourceLoop) carryOut(ctx context.Context, src *v1.NodePoolSource, seen *look) sourceFacts {
	facts := sourceFacts{look: seen, standing: src.Status.Revision}
	if seen.good == "" {
		return facts
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	live, err := listPools(ctx, l.client)
	if err != nil {
		facts.failure = err
		return facts
	}
	outcome, err := plan.RevisionOutcomeOf(plan.RevisionOf(src, seen.good, seen.pools), live, l.nodes(ctx))
	if err != nil {
		facts.failure = err
		return facts
	}
	if facts.failure = refusalOf(outcome); facts.failure != nil {
		return facts
	}
	if facts.failure = l.write(ctx, src, seen, outcome.Plan); facts.failure != nil {
		return facts
	}
	seen.disapprove(outcome.Plan.Kept)
	facts.plan, facts.recreated = outcome.Plan, outcome.Recreated
	return facts
}

// write makes the changes of a plan and reports them. That a prune was approved is
// reported before: whatever comes in between, it is known whose word it was.
func (l *sourceLoop) write(ctx context.Context, src *v1.NodePoolSource, seen *look, p *plan.PoolsPlan) error {
	if len(p.Changes) == 0 {
		return nil
	}
	if p.ConfirmsSource() {
		if err := l.confirm(ctx, src); err != nil {
			return err
		}
	}
	if p.ReleaseApproved {
		l.event(src, corev1.EventTypeNormal, v1.ReleaseApprovedReason, "apply", "the releases of %s are approved; applying %s", seen.good, describePools(p))
	}
	if p.Approved {
		if told := len(seen.approved); seen.approve(p.Deletes()) {
			l.event(src, corev1.EventTypeNormal, v1.PruneApprovedReason, "prune", "%s", describeApproval(seen.good, seen.approved[told:]))
		}
	}
	if err := refused(l.writeWhole(ctx, src, p, seen.good)); err != nil {
		return err
	}
	log.FromContext(ctx).Info("applied revision", "revision", seen.good, "changes", len(p.Changes))
	l.event(src, corev1.EventTypeNormal, "Applied", "apply", "%s at %s", describePools(p), seen.good)
	return nil
}

// writeWhole writes the pools of a revision. They are followed when the cache has all
// of them. Where it has not, because somebody else was faster with some or the cache
// is behind, the error is one of [apply.IsConflict], and they are followed after the
// pass that finds them all: see [sourceLoop.Reconcile]. The revision is empty when the
// pools go with their source: all that they have put on nodes goes, in whatever order.
func (l *sourceLoop) writeWhole(ctx context.Context, src *v1.NodePoolSource, p *plan.PoolsPlan, revision string) error {
	if err := l.applier.DryRunPools(ctx, p); err != nil {
		return err
	}
	if len(p.Changes) > 1 {
		if err := l.begin(ctx, src, revision); err != nil {
			return err
		}
		if err := l.pools.freeze(ctx, src.Name, p.Names()); err != nil {
			return err
		}
	}
	versions, err := l.applier.WritePools(ctx, p)
	if err != nil {
		return err
	}
	if !l.pools.gate.writes(src.Name) {
		return nil
	}
	if err := awaitCache(ctx, func() (bool, error) { return l.seen(ctx, p, versions) }); err != nil {
		return fmt.Errorf("source %q: %w", src.Name, err)
	}
	return l.pools.unfreeze(ctx, src.Name)
}

// cacheLag is how long a pass waits for the cache to have what it has written; far
// longer than that takes. Then a later pass goes on waiting.
const cacheLag = 2 * time.Second

// awaitCache waits until the cache has what was written. The error is errBehind where
// it has not within cacheLag.
func awaitCache(ctx context.Context, has func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, cacheLag)
	defer cancel()
	for {
		if seen, err := has(); err != nil || seen {
			return err
		}
		select {
		case <-ctx.Done():
			return errBehind
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// begin notes in the status that a revision is being written, for a process that
// has to go on with it.
func (l *sourceLoop) begin(ctx context.Context, src *v1.NodePoolSource, revision string) error {
	if revision == "" || revision == src.Status.ApplyingRevision {
		return nil
	}
	status := *src.Status.DeepCopy()
	status.ApplyingRevision = revision
	written, err := l.writeStatus(ctx, src, status)
	if err == nil && !written {
		return fmt.Errorf("source %q is gone: %w", src.Name, errBehind)
	}
	return err
}

// seen tells whether the cache has what was written: these versions of the pools,
// or later ones, and no pool that was deleted.
func (l *sourceLoop) seen(ctx context.Context, p *plan.PoolsPlan, versions map[string]string) (bool, error) {
	live, err := listPools(ctx, l.client, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, err
	}
	cached := index(live)
	for _, change := range p.Changes {
		pool, found := cached[change.Name]
		if change.Action == plan.Delete {
			if found && pool.UID == change.Live.UID && pool.DeletionTimestamp.IsZero() {
				return false, nil
			}
			continue
		}
		if !found {
			return false, nil
		}
		order, err := resourceversion.CompareResourceVersion(pool.ResourceVersion, versions[change.Name])
		if err != nil || order < 0 {
			return false, err
		}
	}
	return true, nil
}

// confirm is refused with a conflict where a source is not as the cache has it.
func (l *sourceLoop) confirm(ctx context.Context, src *v1.NodePoolSource) error {
	now, err := l.reread(ctx, src)
	if err == nil && (now == nil || now.ResourceVersion != src.ResourceVersion) {
		err = errBehind
	}
	if err != nil {
		return fmt.Errorf("source %q: %w", src.Name, err)
	}
	return nil
}

func listPools(ctx context.Context, from client.Reader, options ...client.ListOption) ([]*v1.NodePool, error) {
	var list v1.NodePoolList
	if err := from.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	live := make([]*v1.NodePool, 0, len(list.Items))
	for i := range list.Items {
		live = append(live, &list.Items[i])
	}
	return live, nil
}

// refused marks what the API server will not take however often it is asked.
func refused(err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		return &refusal{reason: v1.ApplyReason, err: err}
	}
	return err
}
