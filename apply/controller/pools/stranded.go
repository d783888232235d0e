package pools

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/plan"
)

// strandedPeriod is how long after the end of a change stranded pods are looked for. The API
// server creates pods with the earlier RuntimeClass until it has seen the new one.
const strandedPeriod = 5 * time.Second

// WithPods has pods reported that a change strands; list returns those that have no node and
// name a RuntimeClass.
func (r *Reconciler) WithPods(list func(ctx context.Context, class string) ([]plan.WaitingPod, error)) *Reconciler {
	r.pods = list
	return r
}

// former is the RuntimeClass of a pool from before the change that nodes follow.
type former struct {
	class *nodev1.RuntimeClass
	// ended is when the change had ended; zero while it has not.
	ended time.Time
}

// noteFormer notes the RuntimeClass that pods may have been created with before a change. One
// change may be several updates, while nodes wait: the first counts.
func (r *Reconciler) noteFormer(pool string, change plan.RuntimeClassChange) {
	if _, noted := r.former.get(pool); !noted && r.pods != nil && change.Live != nil && change.Action != plan.None {
		r.former.set(pool, former{class: change.Live})
	}
}

// strandedEvent records which pods a change has stranded, some time after its end, and returns
// when to come back for that; 0 for never.
func (r *Reconciler) strandedEvent(ctx context.Context, pool *v1.NodePool, pools *fleet.Snapshot, outcome plan.PoolOutcome, ended bool) time.Duration {
	was, noted := r.former.get(pool.Name)
	want, is := pools.Expansion.RuntimeClass(pool.Name), outcome.RuntimeClass
	if !noted {
		return 0
	}
	if !ended || want == nil || is == nil || !equality.Semantic.DeepEqual(is.Want.Scheduling, want.Scheduling) {
		r.former.set(pool.Name, former{class: was.class})
		return 0
	}
	if was.ended.IsZero() {
		was.ended = r.now()
		r.former.set(pool.Name, was)
	}
	if left := was.ended.Add(strandedPeriod).Sub(r.now()); left > 0 {
		return left
	}
	stranded, err := r.stranded(ctx, was.class, is.Want)
	switch {
	case errors.Is(err, evict.ErrNoRights):
	case err != nil:
		log.FromContext(ctx).V(1).Info("stranded pods are not known yet", "error", err.Error())
		return failurePeriod
	case len(stranded) > 0:
		first := stranded[0]
		r.event(pool, corev1.EventTypeWarning, "PodsStranded", "update", "%s; have it created anew: %s", plan.DescribeStranded(stranded), command.DeletePods(first.Namespace, first.Name))
	}
	r.former.take(pool.Name)
	return 0
}

func (r *Reconciler) stranded(ctx context.Context, was, is *nodev1.RuntimeClass) ([]plan.WaitingPod, error) {
	pods, err := r.pods(ctx, is.Name)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	nodes, err := r.fleet.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Stranded(pods, plan.Classes{was.Name: was}, plan.Classes{is.Name: is}, nodes), nil
}
