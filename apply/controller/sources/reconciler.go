// Package sources takes the pools of repositories into the cluster: one pass for each
// NodePoolSource and interval, and for what changes in its pools. What becomes of a
// source is decided by [plan.SourceOutcomeOf], and what becomes of a revision by
// [plan.RevisionOutcomeOf]. Start with [Reconciler.Reconcile].
package sources

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/source/git"
	"github.com/nodepools/nodepools/source/token"
)

var _ manager.Runnable = (*Reconciler)(nil)

// Workers is how many repositories are polled at the same time.
const Workers = 8

// Reconciler takes the pools of repositories into the cluster. Make one with [New].
type Reconciler struct {
	client client.Client
	// live reads past the cache.
	live    client.Reader
	applier *apply.Applier
	fleet   *fleet.Fleet
	events  events.EventRecorder
	options Options
	now     func() time.Time
	tokens  *token.Cache

	// writing is held from a plan to its last write. Two sources that bring the
	// same new pools would else each make some, and then neither could go on.
	writing sync.Mutex

	places places

	// caches have what a poll leaves for the next one, by the name of the source.
	caches *git.Caches

	mu     sync.Mutex
	states map[string]*fetchState // by the name of the source
	wakes  wakes
}

// Options of a reconciler of sources.
type Options struct {
	// FetchTimeout bounds one request to a repository.
	FetchTimeout time.Duration
	// MaxRetry is how soon, at the latest, a source that failed is tried again.
	MaxRetry time.Duration
	// Namespace is where the Secrets are that sources name.
	Namespace string
	// Webhooks reports that Git servers can ask for polls.
	Webhooks bool
	// Metrics count polls; nil is for nobody.
	Metrics *metrics.Metrics
	// Now is by which intervals pass and windows open; nil is for the time of the machine.
	Now func() time.Time
}

// New returns a reconciler of the sources that a client reads and writes. What must be
// newer than its cache is read by live.
func New(c client.Client, live client.Reader, view *fleet.Fleet, recorder events.EventRecorder, options Options) *Reconciler {
	r := &Reconciler{
		client: c, live: live, applier: apply.New(c).ReadingAdmission(live), fleet: view, events: recorder,
		options: options, now: options.Now, states: map[string]*fetchState{}, wakes: newWakes(), caches: git.NewCaches(),
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.tokens = token.NewCache(r.now)
	r.places = places{of: map[string]int{}, waiting: map[string]struct{}{}}
	return r
}

// Start waits until the loops are to end, and then discards what polls have left: see
// [manager.Runnable].
func (r *Reconciler) Start(ctx context.Context) error {
	<-ctx.Done()
	r.caches.Close()
	return nil
}

// Reconcile takes one pass over one source: it polls the repository when that is due,
// brings the NodePools to the last good revision, and reports how it went.
//
// A pass that ends in a conflict, or with a revision that is written in part, is repeated. Nodes
// follow the revision before until its number is written: see [Reconciler.writeRevision].
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if err := r.fleet.CatchUp(ctx); err != nil {
		return reconcile.Result{}, err
	}
	src := &v1.NodePoolSource{}
	if err := r.client.Get(ctx, request.NamespacedName, src); apierrors.IsNotFound(err) {
		r.forget(request.Name)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	switch phase := plan.SourceOutcomeOf(src).State(); phase {
	case plan.SourceStateDeleted:
		r.forget(request.Name)
		return reconcile.Result{}, nil
	case plan.SourceStateDeleting:
		r.forget(request.Name)
		return r.reconcileDeletion(ctx, src)
	case plan.SourceStateSuspended, plan.SourceStatePaused:
		r.caches.Drop(src.Name)
		return reconcile.Result{}, r.report(ctx, src, sourceFacts{pause: pauseOf(phase)})
	case plan.SourceStateActive:
	}
	finalizerErr := r.setFinalizer(ctx, src, controllerutil.AddFinalizer)
	if apply.IsConflict(finalizerErr) || apierrors.IsNotFound(finalizerErr) {
		return reconcile.Result{}, client.IgnoreNotFound(finalizerErr)
	}
	state, waits, err := r.polled(ctx, src)
	if err != nil || state == nil {
		return reconcile.Result{}, err
	}
	facts := r.carryOut(ctx, src, state)
	facts.hook = r.hookOf(ctx, src)
	if loop.IsSoonOver(facts.failure) {
		return reconcile.Result{}, facts.failure
	}
	if facts.failure == nil {
		facts.failure = finalizerErr
	}
	if err := r.report(ctx, src, facts); err != nil {
		return reconcile.Result{}, err
	}
	next := r.nextOf(src, state, facts)
	if waits {
		next = max(next, r.options.MaxRetry) // a place that becomes free leads to a pass
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// polled polls the repository of a source when that is due, and returns what is known of
// it. waits says that no place was free for a poll. Without a state the pass is over, and
// another one follows.
func (r *Reconciler) polled(ctx context.Context, src *v1.NodePoolSource) (state *fetchState, waits bool, err error) {
	state = r.stateOf(src)
	host := hostOf(src.Spec.URL)
	switch {
	case !r.due(src, state):
		return state, false, nil
	case r.places.take(host, src.Name):
		defer r.places.free(host)
	case state == nil || state.generation != src.Generation:
		return nil, true, nil
	default:
		return state, true, nil
	}
	state = r.poll(ctx, src, state)
	// A poll takes time. What it was made for may no longer hold.
	if changed, err := r.changed(ctx, src); err != nil || changed {
		return nil, false, err
	}
	r.setState(src, state)
	return state, false, nil
}

// changed reports whether a source is no longer the one that a pass began with, or
// the loops are to end. The change has led to a pass of its own.
func (r *Reconciler) changed(ctx context.Context, src *v1.NodePoolSource) (bool, error) {
	if ctx.Err() != nil {
		return true, nil
	}
	now := &v1.NodePoolSource{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(src), now); apierrors.IsNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	return now.UID != src.UID || now.Generation != src.Generation || plan.SourceOutcomeOf(now).State() != plan.SourceStateActive, nil
}

// carryOut brings the NodePools to the last good revision. That repairs what was
// changed by hand, too, so it is done in every pass.
func (r *Reconciler) carryOut(ctx context.Context, src *v1.NodePoolSource, state *fetchState) sourceFacts {
	facts := sourceFacts{fetchState: state, standing: src.Status.Revision}
	if state.good == "" {
		return facts
	}
	wait := plan.WindowWaitOf(src, state.good, r.now()) // the search takes time, and nobody else's
	r.writing.Lock()
	defer r.writing.Unlock()
	live, err := loop.ListPools(ctx, r.client, client.UnsafeDisableDeepCopy)
	if err != nil {
		facts.failure = err
		return facts
	}
	if state.rest.holds(src, live) {
		facts.plan = state.rest.plan
		return facts
	}
	for i := range live {
		live[i] = live[i].DeepCopy()
	}
	revision := plan.RevisionOf(src, state.good, state.pools).Awaiting(wait)
	if revision.Others, revision.Numbers, err = r.others(ctx, src, state); err != nil {
		facts.failure = err
		return facts
	}
	outcome, err := plan.RevisionOutcomeOf(revision, live, r.nodes(ctx))
	if err != nil {
		facts.failure = err
		return facts
	}
	r.await(src, state, outcome)
	facts.awaits(wait, outcome)
	if facts.failure = refusalOf(outcome); facts.failure != nil {
		if facts.window != nil {
			if err := r.repair(ctx, src, state, live, revision.Numbers); err != nil {
				facts.failure = err
			}
		}
		return facts
	}
	if facts.failure = r.write(ctx, src, state, outcome.Plan); facts.failure != nil {
		return facts
	}
	state.disapprove(outcome.Plan.Kept)
	state.applied, state.appliedPools = state.good, state.pools
	state.rest = restOf(src, live, state, outcome)
	facts.plan, facts.recreated = outcome.Plan, outcome.Recreated
	return facts
}

// nodes lists the nodes of the cache, for a plan that depends on them.
func (r *Reconciler) nodes(ctx context.Context) func() ([]*plan.NodeState, error) {
	return func() ([]*plan.NodeState, error) { return r.fleet.Nodes(ctx) }
}

// refusalOf is the failure of a revision of which nothing is applied; nil of one that is.
func refusalOf(outcome plan.RevisionOutcome) error {
	if outcome.Refused == nil {
		return nil
	}
	reason := v1.ClaimedReason
	held, wait, claims := (*plan.ReleaseBlock)(nil), (*plan.WindowWait)(nil), (*plan.ClaimError)(nil)
	switch {
	case errors.As(outcome.Refused, &claims) && claims.Soon():
		reason = v1.WaitingForSourceReason
	case errors.As(outcome.Refused, &held):
		reason = v1.ReleaseBlockedReason
	case errors.As(outcome.Refused, &wait):
		reason = v1.WaitingForWindowReason
	}
	return &refusal{reason: reason, err: outcome.Refused}
}
