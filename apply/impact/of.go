package impact

import (
	"github.com/nodepools/nodepools/apply/inventory"
	"github.com/nodepools/nodepools/apply/plan"
)

// Of tells what happens to the pods of an inventory when its cluster becomes the
// one given, as [plan.Difference.After] has it. Neither is changed.
//
// Kubernetes acts on a node when it changes, and so this looks at nodes whose
// labels or taints change, and at pods whose RuntimeClass does. What is wrong
// already, and goes on to be, is not told.
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
