// Package nodes brings nodes to what the pools want: one pass for each node that has
// changed, or that a changed pool may concern, and one write at most. What becomes of a
// node is decided by [plan.NodeOutcomeOf]. Start with [Reconciler.Reconcile].
package nodes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// MaxTries is how often a pass starts over because somebody else wrote the node
// in between. After that it writes what no kubelet may delay, and ends in a conflict
// where that is not all.
const MaxTries = 5

// Reconciler brings nodes to what the pools want. Make one with [New].
type Reconciler struct {
	// cached reads the nodes of the cache; live reads past it.
	cached    nodecache.Reader
	live      client.Reader
	applier   *apply.Applier
	evictions client.SubResourceWriter
	fleet     *fleet.Fleet
	repairs   *repairs
	drained   *drained
	refusals  *refusals
	absences  *absences
	metrics   *metrics.Metrics
	// pending are the nodes that are not up to date yet.
	pending *pending
	// instances notices others like this one.
	instances *instances
}

// New returns a reconciler that reads nodes from a cache, or past it where that is
// behind, and writes them by the patcher. Its log is for what concerns no single pass.
func New(c client.Client, live client.Reader, cached nodecache.Reader, view *fleet.Fleet, patcher apply.NodePatcher, backoff plan.RepairBackoff, counted *metrics.Metrics, logger logr.Logger) *Reconciler {
	instances := newInstances(logger)
	return &Reconciler{
		cached: cached, live: live, fleet: view, repairs: newRepairs(backoff), drained: newDrained(), refusals: newRefusals(), absences: newAbsences(), instances: instances,
		metrics: counted, pending: newPending(),
		evictions: c.SubResource("eviction"),
		applier:   apply.New(c).PatchingNodes(countingPatcher{patcher, instances}),
	}
}

// observed is what one pass has found on a node and done there.
type observed struct {
	fleet.Observation
	results map[string]fleet.Result // by pool
	written bool
	// again is after what time the node needs another pass, though nothing happens to
	// it; 0 for none.
	again time.Duration
}

// Reconcile plans one node from the cache and writes it. Where the API server
// says that the cache is behind, it reads that one node and plans again.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	r.fleet.Enter(request.Name)
	defer r.fleet.Leave(request.Name)
	r.pending.begin(request.Name)
	node, err := r.read(ctx, request.Name)
	var found *observed
	for try := 1; ; try++ {
		if err == nil {
			found, err = r.pass(ctx, node, try == MaxTries)
		} else if !isAbsent(err) {
			return reconcile.Result{}, err
		}
		if isAbsent(err) {
			return reconcile.Result{}, r.absent(ctx, request.Name, found, err)
		}
		if found != nil {
			found.Failed = err != nil
		}
		refused := errors.Is(err, errRefused)
		again := apply.IsConflict(err) || refused
		if found != nil && (!again || try == MaxTries) {
			r.absences.forget(request.Name)
			if again := r.fleet.Report(request.Name, found.Observation, found.results); again && err == nil {
				return reconcile.Result{RequeueAfter: loop.AtOnce}, nil
			}
		}
		if err == nil {
			r.converged(request.Name, found.written)
			return reconcile.Result{RequeueAfter: found.again}, nil
		}
		if refused && try == MaxTries {
			return reconcile.Result{RequeueAfter: loop.AtOnce}, nil
		}
		if !again || try == MaxTries {
			return reconcile.Result{}, err
		}
		node, err = r.readLive(ctx, request.Name)
	}
}

// read reads a node of the cache, or past it, where the cache does not show yet what was
// written in the turn of the node, or may have been.
func (r *Reconciler) read(ctx context.Context, name string) (*nodecache.Node, error) {
	node, err := r.cached.Node(ctx, name)
	if err != nil {
		return nil, ofNode(err)
	}
	if r.fleet.Outdated(name, plan.LastChangeOf(&node.NodeState)) {
		if node, err = r.readLive(ctx, name); err == nil {
			r.fleet.Shown(name, plan.LastChangeOf(&node.NodeState))
		}
	}
	return node, err
}

// readLive reads a node past the cache.
func (r *Reconciler) readLive(ctx context.Context, name string) (*nodecache.Node, error) {
	node, err := nodecache.Live(r.live).Node(ctx, name)
	return node, ofNode(err)
}

// stateOf is a node as far as turns depend on it, by its outcome. What it would begin to
// follow with that counts only once it is written.
func (r *Reconciler) stateOf(node *nodecache.Node, outcome plan.NodeOutcome) plan.FollowerState {
	state := plan.FollowerStateOf(&node.NodeState, outcome, node.Ready)
	state.Change = r.lastChange(node, outcome)
	return state
}

// lastChange is the last one that a node has followed in its turn, by its record, or by
// what was written since.
func (r *Reconciler) lastChange(node *nodecache.Node, outcome plan.NodeOutcome) plan.LastChange {
	var change plan.LastChange
	if outcome.Plan != nil {
		change = outcome.Plan.Recorded().Change
	}
	if last := r.fleet.Last(node.Name); last != nil && last.UID == node.UID && change.Behind(last.Change) {
		return last.Change
	}
	return change
}

// pass reads what the plan goes by, asks it what becomes of a node, and executes that
// once. What it found may be reported also when the write failed. In the last of the passes
// that somebody else was faster than, the walls are written all the same.
func (r *Reconciler) pass(ctx context.Context, node *nodecache.Node, last bool) (*observed, error) {
	pools, err := r.fleet.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	facts := r.facts(node, pools)
	outcome := plan.NodeOutcomeOf(&node.NodeState, pools.Expansion, facts)
	found := &observed{Observation: fleet.Observation{Epoch: pools.Epoch, UID: node.UID, FollowerState: r.stateOf(node, outcome)}}
	switch outcome.State {
	case plan.NodeStateUnreadable:
		r.repairs.forget(node.Name)
		found.Problem, found.Unreadable = "has a record that cannot be read: "+apply.Brief(outcome.Unreadable.Err), true
		log.FromContext(ctx).Error(outcome.Unreadable, "node is left alone; repair its annotation, or run the version that wrote it")
		return found, nil
	case plan.NodeStatePaused:
		r.repairs.forget(node.Name)
		found.Problem = "is paused by its annotation " + v1.ReconcileAnnotation
		return found, nil
	default:
		before := outcome.Drain
		if before != nil && before.Began {
			facts.Drained, facts.Evicted = r.drain(ctx, node.Name, before, pools, found, facts.Now), true
			outcome = plan.NodeOutcomeOf(&node.NodeState, pools.Expansion, facts)
			found.FollowerState = r.stateOf(node, outcome)
		}
		found.Step = outcome.Step
		again := found.again
		err := r.execute(ctx, &node.NodeState, pools, facts, outcome, found, last)
		found.again = loop.Sooner(found.again, again)
		observeRefusals(found, outcome.Wait)
		drain := outcome.Drain
		if err != nil { // the taints may not have come
			drain = before
		}
		if drain == nil {
			r.drained.forget(node.Name)
		}
		if drain != nil {
			found.Overdue = drain.Overdue
		}
		if len(outcome.Wait) > 0 {
			found.again = loop.Sooner(found.again, loop.UntilOpening(outcome.Wait.Until(), facts.Now))
			found.again = loop.Sooner(found.again, loop.UntilOpening(outcome.Closes, facts.Now))
		}
		return found, err
	}
}

// facts are what the plan has to know of a node besides what stands in the cluster.
func (r *Reconciler) facts(node *nodecache.Node, pools *fleet.Snapshot) plan.NodeFacts {
	facts := plan.NodeFacts{
		Rollouts: pools.Rollouts, Backoff: r.repairs.backoff, Repairs: r.repairs.of(node.Name), Now: r.repairs.now(),
	}
	facts.Turn, facts.Unready = r.fleet.Turn(node.Name, pools), !node.Ready
	if facts.Refused = r.refusals.of(node.Name, node.UID, pools, facts.Now); len(facts.Refused) > 0 {
		facts.Rollouts = pools.AllRollouts()
	}
	if last := r.fleet.Last(node.Name); last != nil && last.UID == node.UID {
		facts.LastChange = last.Change
	}
	return facts
}

// execute writes a node, and observes what came of it.
func (r *Reconciler) execute(ctx context.Context, node *plan.NodeState, pools *fleet.Snapshot, facts plan.NodeFacts, outcome plan.NodeOutcome, found *observed, last bool) error {
	found.Conflicts = plan.NewDigest(outcome.Plan.Conflicts)
	found.Contests = outcome.Admission.Held.Contests()
	p := outcome.Admission.Plan
	err := r.applier.Node(ctx, node, p)
	if last && apply.IsConflict(err) {
		err = r.writeWalls(ctx, node, p, err)
	}
	err = ofNode(err)
	r.count(p, err)
	again, fewer := r.judge(node, pools, facts, outcome, last, err)
	if err != nil {
		found.Recorded, found.Problem = outcome.CarriedBefore(), "could not be written: "+apply.Brief(err)
		return errors.Join(fewer, err)
	}
	if outcome.Begins {
		found.Change = p.Record.Change
	}
	repairs := outcome.Admission.Written(r.repairs.now())
	found.Contests = repairs.Contests()
	found.again = loop.Sooner(r.repairs.set(node.Name, repairs), again)
	if !p.NoOp() {
		found.written, found.results = true, resultsOf(p, found.Contests)
		if line := log.FromContext(ctx).V(1); line.Enabled() {
			line.Info("wrote node", "changes", len(p.Changes), "pools", p.Pools, "revisions", pools.Revisions(slices.Concat(p.Pools, p.Releases())))
		}
	}
	return nil
}

// judge notes what the API server has refused of a node, or has taken. It returns after what time the
// node needs another pass for that, and [errRefused] where it does at once. A node that somebody writes
// without a pause has got the walls.
func (r *Reconciler) judge(node *plan.NodeState, pools *fleet.Snapshot, facts plan.NodeFacts, outcome plan.NodeOutcome, last bool, err error) (again time.Duration, fewer error) {
	switch {
	case apply.IsRefused(err):
		left := func(pool string) bool { _, left := facts.Refused[pool]; return left }
		changing := slices.DeleteFunc(pools.AllRollouts().Changing(outcome.Admission.Plan), left)
		of := func(pool string) plan.Refusal {
			return plan.Refusal{Says: said(node.Name, err), Leaving: !slices.Contains(outcome.Plan.Pools, pool)}
		}
		if r.refusals.refuse(node, changing, of, pools, facts.Now) {
			fewer = errRefused
		}
	case err == nil || last && apply.IsConflict(err):
		if r.refusals.take(node.Name, facts.Refused, outcome.Wait, err == nil) {
			again = loop.AtOnce
		}
	}
	return loop.Sooner(again, r.refusals.again(node.Name, pools, facts.Now)), fewer
}

// writeWalls writes what no kubelet may delay by writing its node without a pause. What is
// left of the plan is as outdated as it was.
func (r *Reconciler) writeWalls(ctx context.Context, node *plan.NodeState, p *plan.NodePlan, outdated error) error {
	walls := p.Walls()
	if walls == nil {
		return outdated
	}
	err := r.applier.Walls(ctx, node, walls)
	if walls == p && err == nil || apply.IsRefused(err) {
		return err
	}
	return errors.Join(outdated, err)
}

// resultsOf is what a written plan did for each pool. What was put back of a contested
// key is no result: the contest is reported once, and not with each repair.
func resultsOf(p *plan.NodePlan, contests []plan.Contest) map[string]fleet.Result {
	results := map[string]fleet.Result{}
	for _, change := range p.Changes {
		if slices.ContainsFunc(contests, func(c plan.Contest) bool { return c.Field == change.Field && c.Key == change.Key }) {
			continue
		}
		results[change.Pool] = results[change.Pool].And(fleet.Result{Updated: !change.Drift, Repaired: change.Drift})
	}
	for _, pool := range p.Releases() {
		results[pool] = fleet.Result{Released: true}
	}
	return results
}
