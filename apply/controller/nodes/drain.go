package nodes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/plan"
)

// maxNamedPods is how many pods are named that are left on a node.
const maxNamedPods = 3

// drain evicts what must go from a node before it gets taints, notes what is left, and
// reports whether that is nothing. While others may still not know of the taints that keep
// pods off, or that pods are gone, it is not believed to be nothing.
func (r *Reconciler) drain(ctx context.Context, node string, drain *plan.Drain, pools *fleet.Snapshot, found *observed, now time.Time) bool {
	again := evict.RetryPeriod
	defer func() { found.again = loop.Sooner(found.again, again) }()
	found.Evicting = drain.Obstacle
	if len(drain.Taints) == 0 {
		return false
	}
	if rest, said := r.drained.waits(node, drain, now); rest > 0 {
		again, found.Evicting = rest, said
		return false
	}
	left, err := evict.Pods(ctx, r.live, r.evictions, node, drain, r.drained.evictions(node), now)
	if err != nil {
		// The status of the pool says so; here it would stand every few seconds.
		log.FromContext(ctx).V(1).Info("the node is not drained yet", "error", err.Error())
		found.Evicting = "is not drained yet: " + apply.Brief(err)
		r.drained.hadPods(node, true, r.repairs.now()) // some may have been evicted
		r.drained.evictsAgain(node, drain, r.repairs.now().Add(again), found.Evicting)
		return false
	}
	for _, pod := range left {
		if result, asked := evictionResults[pod.Result]; asked {
			r.metrics.EvictionAsked(drain.Pools(), result)
		}
		if pod.Result == evict.Evicted {
			log.FromContext(ctx).Info("evicted pod", "pod", pod.Namespace+"/"+pod.Name, "pools", drain.Pools(), "revisions", pools.Revisions(drain.Pools()))
		}
	}
	now = r.repairs.now() // the round takes its time
	settles := drain.Settles(r.drained.hadPods(node, len(left) > 0, now))
	if len(left) == 0 && !now.Before(settles) {
		return true
	}
	if len(left) == 0 {
		again = min(again, max(settles.Sub(now), loop.AtOnce))
	}
	found.Evicting = cmp.Or(drain.Obstacle, describeLeft(left))
	r.drained.evictsAgain(node, drain, now.Add(again), found.Evicting)
	return false
}

var evictionResults = map[evict.Result]metrics.EvictionResult{
	evict.Evicted: metrics.PodEvicted, evict.Blocked: metrics.EvictionBlocked, evict.Gone: metrics.PodGone, evict.Failed: metrics.EvictionFailed,
}

// describeLeft names pods that are left, those first of which it is known why.
func describeLeft(left []evict.Left) string {
	if len(left) == 0 {
		return "has no pod left to evict"
	}
	var named []string
	for _, held := range []bool{true, false} {
		for _, pod := range left {
			if (pod.Reason != "") == held && len(named) < maxNamedPods {
				named = append(named, pod.String())
			}
		}
	}
	text := strings.Join(named, "; ")
	if more := len(left) - len(named); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
