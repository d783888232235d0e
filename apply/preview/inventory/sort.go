package inventory

import (
	"cmp"
	"slices"
)

// sort sorts everything as the types document.
func (inv *Inventory) sort() {
	sortByName(inv.Nodes)
	sortByName(inv.RuntimeClasses)
	sortByName(inv.Pools)
	sortByName(inv.Sources)
	for _, pods := range [][]Pod{inv.Pods, inv.Waiting} {
		slices.SortFunc(pods, func(a, b Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	slices.SortFunc(inv.Workloads, func(a, b Workload) int { return a.compare(b.Owner) })
	slices.SortFunc(inv.Budgets, func(a, b Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for i := range inv.Pods {
		slices.Sort(inv.Pods[i].Budgets)
	}
}

func sortByName[T interface{ GetName() string }](objects []T) {
	slices.SortFunc(objects, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
}

func (o Owner) compare(other Owner) int {
	return cmp.Or(cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.Name, other.Name), cmp.Compare(o.Group, other.Group))
}
