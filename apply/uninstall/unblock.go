package uninstall

import (
	"slices"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// unblock adds what lets the release of pools that are being deleted go on. It comes after
// their deletion: before, what waits for a pause or a window would be carried out.
func (p *Plan) unblock(pools []*v1.NodePool) {
	var paused, rollouts []string
	for _, pool := range pools {
		if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
			paused = append(paused, pool.Name)
		}
		if pool.Spec.Rollout != nil {
			rollouts = append(rollouts, pool.Name)
		}
	}
	slices.Sort(paused)
	slices.Sort(rollouts)
	for _, of := range []struct {
		resource, why string
		names         []string
	}{
		{"node", "nothing is removed from a paused node", p.PausedNodes},
		{command.Pools, "a paused pool releases nothing", paused},
	} {
		if len(of.names) > 0 {
			p.Steps = append(p.Steps, Step{"resume what is paused: " + of.why,
				command.RemoveAnnotation(of.resource, v1.ReconcileAnnotation, of.names...)})
		}
	}
	if len(rollouts) > 0 {
		// All of it: an expedited change still waits for a pause and the budget, and a halt
		// stays while any pool has a rollout.
		p.Steps = append(p.Steps, Step{"take the rollout off " + some(rollouts) + ": pools that are being deleted still wait for its windows, its pause, its approvals and its budget. " +
			"The nodes are released together then, also outside windows; or leave this out, and wait for as long as the rollout takes. " +
			"A pool that is gone by now is not found, which does no harm",
			command.RemoveRollouts(rollouts...)})
	}
}
