package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// maxTries is how often a pass starts over because somebody else wrote the node
// in between. After that it ends in a conflict.
const maxTries = 5

// atOnce puts a node back into the queue for a pass of its own.
const atOnce = time.Nanosecond

// nodeLoop brings nodes to what the pools want. What becomes of a node is decided by
// [plan.NodeOutcomeOf].
type nodeLoop struct {
	cached  client.Reader
	live    client.Reader
	applier *apply.Applier
	pools   *poolSet
	tally   *tally
	repairs *repairs
	// instances notices others like this one.
	instances *instances

	// queue is the loop's own. followed are the pools by which nodes were last put
	// into it; only one pass at a time does that.
	queue    requestQueue
	followed *poolSnapshot
}

// finding is what one pass found on a node and did there.
type finding struct {
	note
	done map[string]deed // by pool
	// again is after what time the node has to be looked at once more, though nothing
	// happens to it; 0 for never.
	again time.Duration
}

// Reconcile plans one node from the cache and writes it. Where the API server
// says that the cache is behind, it reads that one node and plans again.
func (l *nodeLoop) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if request == poolsChanged {
		return reconcile.Result{}, l.followPools(ctx)
	}
	l.tally.enter(request.Name)
	defer l.tally.leave(request.Name)
	node := &corev1.Node{}
	err := l.cached.Get(ctx, request.NamespacedName, node, client.UnsafeDisableDeepCopy)
	for try := 1; ; try++ {
		if apierrors.IsNotFound(err) {
			l.tally.forget(request.Name)
			l.repairs.forget(request.Name)
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		var found *finding
		found, err = l.pass(ctx, node)
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil // the event of its deletion says the rest
		}
		if found != nil && (!apply.IsConflict(err) || try == maxTries) {
			if again := l.tally.report(request.Name, found.note, found.done); again && err == nil {
				return reconcile.Result{RequeueAfter: atOnce}, nil
			}
		}
		if err == nil {
			return reconcile.Result{RequeueAfter: found.again}, nil
		}
		if !apply.IsConflict(err) || try == maxTries {
			return reconcile.Result{}, err
		}
		node, err = l.read(ctx, request.NamespacedName)
	}
}

// read gets a node from the API server, past the cache, in the form in which the
// cache keeps it.
func (l *nodeLoop) read(ctx context.Context, name types.NamespacedName) (*corev1.Node, error) {
	node := &corev1.Node{}
	if err := l.live.Get(ctx, name, node); err != nil {
		return nil, err
	}
	if _, err := nodecache.Slim(node); err != nil {
		return nil, err
	}
	return node, nil
}

// pass reads what the plan goes by, asks it what becomes of a node, and executes that
// once. What it found may be reported also when the write failed.
func (l *nodeLoop) pass(ctx context.Context, node *corev1.Node) (*finding, error) {
	pools, err := l.pools.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	outcome := plan.NodeOutcomeOf(node, pools.Expansion, l.facts(node, pools))
	found := &finding{note: note{epoch: pools.epoch, uid: node.UID, ready: nodecache.Ready(node), members: outcome.Members}}
	switch outcome.State {
	case plan.NodeStateUnreadable:
		l.repairs.forget(node.Name)
		found.problem, found.stuck = "has a record that cannot be read: "+apply.Brief(outcome.Unreadable.Err), true
		log.FromContext(ctx).Error(outcome.Unreadable, "node is left alone; repair its annotation, or run the version that wrote it")
		return found, nil
	case plan.NodeStatePaused:
		l.repairs.forget(node.Name)
		found.recorded = outcome.CarriedBefore()
		found.problem, found.stuck = "is paused by its annotation "+v1.ReconcileAnnotation, true
		return found, nil
	default:
		return found, l.execute(ctx, node, pools, outcome, found)
	}
}

// facts are what the plan has to know of a node besides what stands in the cluster.
func (l *nodeLoop) facts(node *corev1.Node, pools *poolSnapshot) plan.NodeFacts {
	facts := plan.NodeFacts{
		Backoff: l.repairs.backoff, Repairs: l.repairs.of(node.Name), Now: l.repairs.now(), Known: pools.knows,
	}
	if last := l.tally.last(node.Name); last != nil && last.uid == node.UID {
		facts.UpToDate, facts.Members = last.problem == "" && !pools.changedFor(last), last.members
	}
	return facts
}

// execute writes a node, and notes what came of it.
func (l *nodeLoop) execute(ctx context.Context, node *corev1.Node, pools *poolSnapshot, outcome plan.NodeOutcome, found *finding) error {
	found.conflicts = plan.NewDigest(outcome.Plan.Conflicts)
	found.contests = outcome.Admission.Held.Contests()
	if err := l.confirmGone(ctx, pools, outcome.Unconfirmed); err != nil {
		found.recorded, found.problem = outcome.CarriedBefore(), "is left as it is: "+apply.Brief(err)
		return err
	}
	p := outcome.Admission.Plan
	if err := l.applier.Node(ctx, node, p); err != nil {
		found.recorded, found.problem = outcome.CarriedBefore(), "could not be written: "+apply.Brief(err)
		return err
	}
	written := outcome.Admission.Written(l.repairs.now())
	found.recorded, found.contests = outcome.CarriedAfter(), written.Contests()
	found.again = l.repairs.keep(node.Name, written)
	if !p.Quiet() {
		found.done = deeds(p, found.contests)
		log.FromContext(ctx).V(1).Info("wrote node", "changes", len(p.Changes), "pools", p.Pools)
	}
	return nil
}

// deeds tells what a written plan did for each pool. What was put back of a contested
// key is no deed: the contest is reported once, and not with each repair.
func deeds(p *plan.NodePlan, contests []plan.Contest) map[string]deed {
	done := map[string]deed{}
	for _, change := range p.Changes {
		if slices.ContainsFunc(contests, func(c plan.Contest) bool { return c.Field == change.Field && c.Key == change.Key }) {
			continue
		}
		done[change.Pool] = done[change.Pool].and(deed{updated: !change.Drift, repaired: change.Drift})
	}
	for _, pool := range p.Releases() {
		done[pool] = deed{released: true}
	}
	return done
}
