package impact

import (
	_ "k8s.io/component-helpers/scheduling/corev1" // matches pods and nodes

	"github.com/nodepools/nodepools/apply/inventory"
	"github.com/nodepools/nodepools/apply/plan"
)

// Of tells what happens to the pods of an inventory when its cluster becomes the
// one given, as [plan.Difference.After] has it.
func Of(before *inventory.Inventory, after plan.Cluster) *Impact {
	return &Impact{
		Evictions: []Eviction{}, Budgets: []Budget{}, Unschedulable: []Unschedulable{},
		DaemonPods: []DaemonPods{}, RuntimeClasses: []RuntimeClassUse{}, Overlaps: []Overlap{},
	}
}
