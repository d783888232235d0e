// Package dryrun asks an API server whether it would take the writes of a plan. Start
// with [Run].
package dryrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
)

// Result is what the API server answered.
type Result struct {
	// Writes is how many were asked about.
	Writes int
	// Refusals are what was answered to those that it would not take.
	Refusals []plan.Problem
}

// Run asks about each write of a difference to a cluster, in the order in which they
// would be made, and waits no longer than the timeout for all answers. An error says
// that the API server could not be asked.
//
// A dry run leaves everything as it was, so a write that builds on another one is
// asked about as if that had been made.
func Run(ctx context.Context, config *rest.Config, timeout time.Duration, before plan.Cluster, difference *plan.Difference) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	writer, err := observe.NewClient(config)
	if err != nil {
		return nil, err
	}
	// It sends nothing but dry runs, whatever the applier wants.
	writer = client.NewDryRunClient(writer)
	r := &run{before: before, difference: difference, client: writer, applier: apply.New(writer), pools: map[string]*v1.NodePool{}}
	for _, pool := range before.Pools {
		r.pools[pool.Name] = pool
	}
	if err := r.all(ctx); err != nil {
		return nil, connect.Explain(err, connect.ServerName(config), timeout)
	}
	return &r.result, nil
}

// Err is the error of a difference that the API server would not take whole; nil where
// it would.
func (r *Result) Err() error {
	if len(r.Refusals) == 0 {
		return nil
	}
	err := fmt.Errorf("the API server would refuse %d of %s", len(r.Refusals), review.Count(r.Writes, "write"))
	for _, refusal := range r.Refusals {
		if apierrors.IsForbidden(refusal) {
			return hint.Add(err, "it is asked with the rights of the user, who may have fewer than the controller; what it says is among the problems")
		}
	}
	return hint.Add(err, "what it says is among the problems")
}

// run is one dry run of a difference.
type run struct {
	before     plan.Cluster
	difference *plan.Difference
	client     client.Client
	applier    *apply.Applier
	pools      map[string]*v1.NodePool
	result     Result
}

func (r *run) all(ctx context.Context) error {
	pools := r.difference.Expansion()
	for _, write := range r.difference.Writes(r.before) {
		about, err := r.ask(ctx, write, pools)
		if err := r.record(about, err); err != nil {
			return err
		}
	}
	return nil
}

// ask asks about one write, and names its subject.
func (r *run) ask(ctx context.Context, write plan.Write, pools *render.Expansion) (about plan.Problem, err error) {
	switch {
	case write.Pool != nil:
		about.Pool = write.Pool.Name
		if err = r.applier.DryRunPool(ctx, *write.Pool); err != nil {
			err = fmt.Errorf("%s pool %q: %w", write.Pool.Action, write.Pool.Name, err)
		}
	case write.RuntimeClass != nil:
		if pool := metav1.GetControllerOf(write.RuntimeClass.Want); pool != nil {
			about.Pool = pool.Name
		}
		err = r.runtimeClass(ctx, *write.RuntimeClass)
	default:
		about.Node = write.Node.Node.Name
		err = r.node(ctx, write.Node.Node, write.Node.Plan, pools)
	}
	return about, err
}

// record keeps what the API server refuses, about the subject that is given, and
// returns an error that is no refusal: there was no answer at all.
func (r *run) record(about plan.Problem, err error) error {
	r.result.Writes++
	answer := apierrors.APIStatus(nil)
	if err == nil || !errors.As(err, &answer) || apierrors.IsUnauthorized(err) || tooBusy(err) {
		return err
	}
	about.Kind, about.Err = plan.Refused, connect.OneLine(fmt.Errorf("the API server would refuse to %w", err))
	r.result.Refusals = append(r.result.Refusals, about)
	return nil
}

// tooBusy reports whether an answer says nothing of what was asked: another time it
// would be another one.
func tooBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// placeholder is the UID of a pool that is not there yet. An owner has to have one.
const placeholder types.UID = "00000000-0000-0000-0000-000000000000"

func (r *run) runtimeClass(ctx context.Context, change plan.RuntimeClassChange) error {
	change.Want = change.Want.DeepCopy()
	pool := &v1.NodePool{}
	for i, owner := range change.Want.OwnerReferences {
		if owner.UID == "" {
			change.Want.OwnerReferences[i].UID = placeholder
		}
		if live := r.pools[owner.Name]; live != nil {
			pool = live.DeepCopy()
		}
	}
	err := r.applier.RuntimeClass(ctx, pool, change)
	if change.Action == plan.Replace && apierrors.IsAlreadyExists(err) {
		return nil // the API server has validated the new one before it finds the old one there
	}
	return err
}

// maxConflicts is how often a node may change while it is being asked about.
const maxConflicts = 5

// node asks about a node as it is now: kubelets write to it all the time.
func (r *run) node(ctx context.Context, node *plan.NodeState, p *plan.NodePlan, pools *render.Expansion) error {
	for try := 1; ; try++ {
		err := r.applier.Node(ctx, node, p)
		if !apply.IsConflict(err) || try == maxConflicts {
			return err
		}
		now := &corev1.Node{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: node.Name}, now); apierrors.IsNotFound(err) {
			return nil // nothing is written to a node that is gone
		} else if err != nil {
			return fmt.Errorf("read node %q: %w", node.Name, err)
		}
		state := plan.StateOf(now)
		outcome := plan.NodeOutcomeOf(state, pools, plan.NodeFacts{})
		switch {
		case outcome.Unreadable != nil:
			return outcome.Unreadable
		case outcome.Paused:
			return nil // nothing is written to a node that is paused by now
		}
		node, p = state, outcome.Plan
	}
}
