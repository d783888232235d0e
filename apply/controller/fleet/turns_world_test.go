package fleet

import (
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
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

// governs reports whether a pool is no weaker than one that the write disrupts the node
// for: of a key that goes from one pool to another, the stronger one of these.
func (w *fleetWorld) governs(pool *v1.NodePool, outcome plan.NodeOutcome) bool {
	recorded := outcome.Plan.Recorded()
	for _, change := range outcome.Admission.Plan.Changes {
		disruptive := change.Field == plan.Taint || change.Field == plan.Label && change.Before != nil
		if !disruptive || change.Drift {
			continue
		}
		from := recorded.Labels[change.Key]
		for id, entry := range recorded.Taints {
			if id.String() == change.Key {
				from = entry
			}
		}
		cause := w.named(change.Pool)
		if other := w.named(from.Pool); other != nil && stronger(other, cause) {
			cause = other
		}
		if !stronger(cause, pool) {
			return true
		}
	}
	return false
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
