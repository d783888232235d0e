package impact

import (
	"slices"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// lostBudgets counts for each PodDisruptionBudget how many of its pods are
// lost. It counts healthy pods, as Kubernetes does: one that was not ready, or
// has finished, does not count. Pods that are deleted later count like those
// that are deleted at once. A budget that the inventory does not list allows
// nothing.
func lostBudgets(known []inventory.Budget, going map[*inventory.Pod]leaving, daemons *daemonChanges) []Budget {
	lost := map[label]int{}
	lose := func(pod *inventory.Pod) {
		if idle(pod) || !pod.Ready {
			return
		}
		for _, name := range pod.Budgets {
			lost[label{pod.Namespace, name}]++
		}
	}
	for pod := range going {
		lose(pod)
	}
	for _, pod := range daemons.removed {
		lose(pod)
	}
	allowed := make(map[label]int, len(known))
	for _, budget := range known {
		allowed[label{budget.Namespace, budget.Name}] = max(int(budget.Allowed), 0)
	}
	budgets := make([]Budget, 0, len(lost))
	for of, count := range lost {
		budgets = append(budgets, Budget{
			Namespace: of.key, Name: of.value,
			Allowed: allowed[of], Lost: count, Exceeded: count > allowed[of],
		})
	}
	slices.SortFunc(budgets, compareBudgets)
	return budgets
}
