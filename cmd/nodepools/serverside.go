package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
	"github.com/nodepools/nodepools/render"
)

// rehearsal asks the API server about each write of a difference, in the order in
// which they would be made. Its client sends nothing but dry runs, whatever the
// applier wants.
//
// A dry run leaves everything as it was, so a write that builds on another one is
// asked about as if that had been made.
type rehearsal struct {
	*sides
	*plan.Difference
	client  client.Client
	applier *apply.Applier
	pools   map[string]*v1.NodePool
	// writes is how many were asked about, refusals what was answered to some.
	writes   int
	refusals []plan.Problem
}

// rehearse returns what the API server would not take. An error says that it could
// not be asked.
func (s *sides) rehearse(ctx context.Context, difference *plan.Difference) (*rehearsal, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cluster.flags.timeout)
	defer cancel()
	writer, err := s.cluster.dryRunClient()
	if err != nil {
		return nil, err
	}
	r := &rehearsal{sides: s, Difference: difference, client: writer, applier: apply.New(writer), pools: map[string]*v1.NodePool{}}
	for _, pool := range s.before.Pools {
		r.pools[pool.Name] = pool
	}
	if err := r.run(ctx); err != nil {
		return nil, unreachable(err, serverName(s.cluster.config), s.cluster.flags.timeout)
	}
	return r, nil
}

func (l *liveCluster) dryRunClient() (client.Client, error) {
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	writer, err := client.New(l.config, client.Options{Scheme: scheme, Mapper: knownKinds()})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return client.NewDryRunClient(writer), nil
}

func (r *rehearsal) run(ctx context.Context) error {
	for _, change := range r.Pools.Changes {
		err := r.applier.RehearsePool(ctx, change)
		if err != nil {
			err = fmt.Errorf("%s pool %q: %w", change.Action, change.Name, err)
		}
		if err := r.heard(plan.Problem{Pool: change.Name}, err); err != nil {
			return err
		}
	}
	for _, change := range r.RuntimeClasses {
		if change.Action == plan.Delete {
			continue // the garbage collector does that, when the pool is gone
		}
		about := plan.Problem{}
		if pool := metav1.GetControllerOf(change.Want); pool != nil {
			about.Pool = pool.Name
		}
		if err := r.heard(about, r.runtimeClass(ctx, change)); err != nil {
			return err
		}
	}
	return r.nodes(ctx)
}

// nodes asks about the first write of each node: what follows it, where a node
// takes two, is of the same kind.
func (r *rehearsal) nodes(ctx context.Context) error {
	expansion := r.Expansion(r.before)
	live := make(map[string]*corev1.Node, len(r.before.Nodes))
	for _, node := range r.before.Nodes {
		live[node.Name] = node
	}
	for _, change := range r.Difference.Nodes {
		p, err := plan.Node(live[change.Name], expansion)
		if err != nil {
			return err
		}
		if p.Quiet() {
			continue
		}
		if err := r.heard(plan.Problem{Node: change.Name}, r.node(ctx, live[change.Name], p, expansion)); err != nil {
			return err
		}
	}
	return nil
}

// heard keeps what the API server refuses, about the subject that is given, and
// returns an error that is no refusal: there was no answer at all.
func (r *rehearsal) heard(about plan.Problem, err error) error {
	r.writes++
	answer := apierrors.APIStatus(nil)
	if err == nil || !errors.As(err, &answer) || apierrors.IsUnauthorized(err) || tooBusy(err) {
		return err
	}
	about.Kind, about.Err = plan.Refused, oneLine{fmt.Errorf("the API server would refuse to %w", err)}
	r.refusals = append(r.refusals, about)
	return nil
}

// tooBusy tells of an answer that says nothing of what was asked: another time it
// would be another one.
func tooBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// placeholder is the UID of a pool that is not there yet. An owner has to have one.
const placeholder types.UID = "00000000-0000-0000-0000-000000000000"

func (r *rehearsal) runtimeClass(ctx context.Context, change plan.RuntimeClassChange) error {
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
		return nil // the old one is still there, and the new one was looked at before that was
	}
	return err
}

// maxConflicts is how often a node may change while it is being asked about.
const maxConflicts = 5

// node asks about a node as it is now: kubelets write to it all the time.
func (r *rehearsal) node(ctx context.Context, node *corev1.Node, p *plan.NodePlan, pools *render.Expansion) error {
	for try := 1; ; try++ {
		err := r.applier.Node(ctx, node, p)
		if !apply.IsConflict(err) || try == maxConflicts {
			return err
		}
		now := &corev1.Node{}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(node), now); apierrors.IsNotFound(err) {
			return nil // nothing is written to a node that is gone
		} else if err != nil {
			return fmt.Errorf("read node %q: %w", node.Name, err)
		}
		if p, err = plan.Node(now, pools); err != nil {
			return err
		}
		node = now
	}
}

// refused is the error of a difference that the API server would not take whole.
func (r *rehearsal) refused() error {
	err := fmt.Errorf("the API server would refuse %d of %s", len(r.refusals), review.Count(r.writes, "write"))
	for _, refusal := range r.refusals {
		if apierrors.IsForbidden(refusal) {
			return hinted{err, "it is asked with the rights of the user, who may have fewer than the controller; what it says is among the problems"}
		}
	}
	return hinted{err, "what it says is among the problems"}
}
