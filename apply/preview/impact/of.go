package impact

import (
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// Of computes what happens to the pods of an inventory when its cluster becomes
// the given one, as [plan.Difference.After] has it, and nodes are drained of taints
// before these come, as [plan.Difference.Drains] has it. None of them is changed.
//
// Kubernetes acts on a node when it changes, so only nodes whose labels or
// taints change are considered, and pods whose RuntimeClass does. Existing
// problems that remain are not listed.
func Of(before *inventory.Inventory, after plan.Cluster, drains map[string][]plan.DrainBefore) *Impact {
	w := newWorld(before, after)
	w.setDrains(drains)
	going := w.evictions()
	daemons := w.daemonPods(going)
	return &Impact{
		Evictions:      w.groupEvictions(going),
		Budgets:        lostBudgets(before.Budgets, going, daemons),
		Unschedulable:  w.unschedulable(going, daemons),
		Stranded:       w.stranded(before, after),
		DaemonPods:     daemons.list(),
		RuntimeClasses: w.runtimeClasses(before),
		Overlaps:       overlaps(before.Cluster, after),
	}
}
