package impact

import (
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// Of computes what happens to the pods of an inventory when its cluster becomes
// the given one, as [plan.Difference.After] has it. Neither is changed.
//
// Kubernetes acts on a node when it changes, so only nodes whose labels or
// taints change are considered, and pods whose RuntimeClass does. Existing
// problems that remain are not listed.
func Of(before *inventory.Inventory, after plan.Cluster) *Impact {
	w := newWorld(before, after)
	going := w.evictions()
	daemons := w.daemonPods(going)
	return &Impact{
		Evictions:      w.groupEvictions(going),
		Budgets:        lostBudgets(before.Budgets, going, daemons),
		Unschedulable:  w.unschedulable(going, daemons),
		DaemonPods:     daemons.list(),
		RuntimeClasses: w.runtimeClasses(before),
		Overlaps:       overlaps(before.Cluster, after),
	}
}
