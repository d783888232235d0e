package fleet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// ordering is the strongest of the pools with waves that a write had to wait for.
func (w *fleetWorld) ordering(outcome plan.NodeOutcome) (strongest *v1.NodePool) {
	for _, pool := range w.pools {
		if pool.Spec.Rollout != nil && len(pool.Spec.Rollout.Waves) > 0 && slices.Contains(outcome.Members, pool.Name) &&
			w.governs(pool, outcome) && (strongest == nil || stronger(pool, strongest)) {
			strongest = pool
		}
	}
	return strongest
}

// governs reports whether a pool is no weaker than one that the write disrupts the node for.
func (w *fleetWorld) governs(pool *v1.NodePool, outcome plan.NodeOutcome) bool {
	return slices.ContainsFunc(w.causes(outcome), func(cause *v1.NodePool) bool { return !stronger(cause, pool) })
}

// weakestCause is the weakest of the pools that the write disrupts the node for.
func (w *fleetWorld) weakestCause(outcome plan.NodeOutcome) (weakest *v1.NodePool) {
	for _, cause := range w.causes(outcome) {
		if weakest == nil || stronger(weakest, cause) {
			weakest = cause
		}
	}
	return weakest
}

// causes are the pools that the write disrupts the node for: of a key that goes from one pool
// to another, the stronger one of these.
func (w *fleetWorld) causes(outcome plan.NodeOutcome) (causes []*v1.NodePool) {
	recorded := outcome.Plan.Recorded()
	for _, change := range outcome.Admission.Plan.Changes {
		disruptive := change.Field == plan.Taint || change.Field == plan.Label && change.Before != nil
		if !disruptive || change.Drift || ofDrain(recorded.Change, change) { // or it is what it was drained for
			continue
		}
		from := recorded.Labels[change.Key]
		for id, entry := range recorded.Taints {
			if _, drained := outcome.Admission.Plan.Record.Change.Drains[id]; change.Field == plan.Taint && id.String() == change.Key && from.Pool == "" ||
				drained && change.Key == twinOf(id) { // it keeps pods off in the place of that
				from = entry
			}
		}
		cause := w.named(change.Pool)
		if other := w.named(from.Pool); other != nil && stronger(other, cause) {
			cause = other
		}
		causes = append(causes, cause)
	}
	return causes
}

func (w *fleetWorld) named(name string) *v1.NodePool {
	for _, pool := range w.pools {
		if pool.Name == name {
			return pool
		}
	}
	return nil
}

// stronger reports whether a pool goes before another; all of them are equally old.
func stronger(a, b *v1.NodePool) bool {
	return a.Spec.Priority > b.Spec.Priority || a.Spec.Priority == b.Spec.Priority && a.Name < b.Name
}

// drains reports whether pods are evicted from a node: what it is drained for, its pools say
// still.
func (w *fleetWorld) drains(node string) bool {
	outcome := plan.NodeOutcomeOf(w.truth[node], w.snapshot.Expansion, plan.NodeFacts{Rollouts: w.snapshot.Rollouts, Now: w.now})
	return outcome.Drain != nil && outcome.Drain.Began
}

// drains reports whether a node is drained at the moment.
func drains(change plan.LastChange) bool { return len(change.Drains) > 0 }

// ofDrain reports whether a change of a taint is one of which a node is drained, or the end of
// what has kept pods off meanwhile.
func ofDrain(recorded plan.LastChange, change plan.KeyChange) bool {
	for id, drained := range recorded.Drains {
		if change.Field == plan.Taint && (change.Key == id.String() && change.After != nil && *change.After == drained.Value || change.Key == twinOf(id)) {
			return true
		}
	}
	return false
}

// twinOf is the taint that keeps pods off while a node is drained.
func twinOf(id render.TaintID) string {
	return render.TaintID{Key: id.Key, Effect: corev1.TaintEffectNoSchedule}.String()
}

// completes reports whether a write only gives a node the taints that it was drained for.
func completes(before, after plan.LastChange) bool {
	for pool, followed := range after.Pools {
		if followed.At.Equal(after.At) && !slices.Contains(before.Drained(), pool) && !followed.At.Equal(before.Pools[pool].At) {
			return false
		}
	}
	return drains(before)
}

// mostOf is how many of some nodes a limit lets be unavailable.
func mostOf(limit intstr.IntOrString, nodes int) int {
	if limit.Type == intstr.Int {
		return limit.IntValue()
	}
	var percent int
	if _, err := fmt.Sscanf(limit.StrVal, "%d%%", &percent); err != nil || percent == 0 {
		return 0
	}
	return max(1, nodes*percent/100)
}

// monitor is what sets a condition of a node.
func (w *fleetWorld) monitor(name string) {
	node := w.truth[name].DeepCopy()
	node.ResourceVersion += "2"
	node.Conditions = plan.ParseConditions([]string{"", "GPUHealthy=False", "GPUHealthy=True", "GPUHealthy=True", "GPUHealthy=True"}[w.r.IntN(5)])
	w.truth[name] = node
}

// available reports whether a node is ready, and meets the conditions that a pool names, as the
// leader sees it.
func (w *fleetWorld) available(pool *v1.NodePool, name string) bool {
	met := len(pool.Spec.Rollout.NodeConditions) == 0 || w.cache[name].Conditions.String() != "GPUHealthy=False" && w.cache[name].Conditions.String() != ""
	return w.ready[name] && met
}
