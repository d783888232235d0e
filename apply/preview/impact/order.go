package impact

import (
	"cmp"
	"slices"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// named returns the workload of an owner.
func named(owner inventory.Owner) Workload { return Workload(owner) }

// workloadOf returns the workload that a pod is counted under: its owner, or
// itself. A pod is in the namespace of its owner, or the owner is in none.
func workloadOf(pod *inventory.Pod) Workload {
	if pod.Owner == (inventory.Owner{}) {
		return Workload{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
	}
	return Workload{Group: pod.Owner.Group, Kind: pod.Owner.Kind, Namespace: pod.Namespace, Name: pod.Owner.Name}
}

func compareWorkloads(a, b Workload) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
}

func comparePods(a, b Pod) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
}

func compareEvictions(a, b Eviction) int {
	return cmp.Or(
		compareWorkloads(a.Workload, b.Workload),
		cmp.Compare(a.AfterSeconds, b.AfterSeconds),
		slices.Compare(a.Taints, b.Taints),
		comparePods(a.Pods[0], b.Pods[0]),
	)
}

func compareUnschedulable(a, b Unschedulable) int {
	return cmp.Or(
		compareWorkloads(a.Workload, b.Workload),
		cmp.Compare(a.Reason.String(), b.Reason.String()),
		comparePods(a.Pods[0], b.Pods[0]),
	)
}

func compareBudgets(a, b Budget) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
