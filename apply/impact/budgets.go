package impact

import (
	"slices"

	"github.com/nodepools/nodepools/apply/inventory"
)

// lostBudgets tells of each PodDisruptionBudget how many of its pods are lost. It
// counts as Kubernetes does, which is healthy pods: one that was not ready, or
// has finished, is missed by no budget. Pods that go later count like those that
// go at once. A budget of which nothing else is known allows nothing.
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
