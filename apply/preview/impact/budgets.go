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
	l := losses{allowed: make(map[label]inventory.Budget, len(known)), lost: map[label]*Budget{}, unhealthy: map[label]int{}}
	for _, budget := range known {
		l.allowed[label{budget.Namespace, budget.Name}] = budget
	}
	for pod, goes := range going {
		l.lose(pod, goes.drain)
	}
	for _, pod := range daemons.removed {
		l.lose(pod, nil)
	}
	budgets := make([]Budget, 0, len(l.lost))
	for name, budget := range l.lost {
		budget.Unhealthy = l.unhealthy[name]
		budget.Exceeded = budget.Lost-budget.Drained > budget.Allowed
		slices.SortFunc(budget.Waiting, comparePods)
		slices.SortFunc(budget.Undrainable, comparePods)
		budgets = append(budgets, *budget)
	}
	slices.SortFunc(budgets, compareBudgets)
	return budgets
}

// losses are what PodDisruptionBudgets lose.
type losses struct {
	allowed map[label]inventory.Budget
	lost    map[label]*Budget
	// unhealthy are the pods that go and that no budget counts.
	unhealthy map[label]int
}

// of returns what a budget loses.
func (l *losses) of(name label) *Budget {
	if l.lost[name] == nil {
		l.lost[name] = &Budget{Namespace: name.key, Name: name.value, Allowed: max(int(l.allowed[name].Allowed), 0), Waiting: []Pod{}, Undrainable: []Pod{}}
	}
	return l.lost[name]
}

// lose counts a pod that goes, and is drained before, if not nil.
func (l *losses) lose(pod *inventory.Pod, drain *Drain) {
	if idle(pod) {
		return
	}
	for _, name := range pod.Budgets {
		of := label{pod.Namespace, name}
		if pod.Ready {
			l.of(of).Lost++
		} else {
			l.unhealthy[of]++
		}
		if !drain.asks() {
			continue
		}
		if pod.Ready {
			l.of(of).Drained++
		}
		l.block(of, pod, drain)
	}
}

// block notes that the drain of a pod waits for a budget. It follows the Eviction API of
// Kubernetes: that evicts no pod with several budgets; it evicts one that is not ready, by
// default, where as many as desired are healthy; and else as many as the budget allows.
func (l *losses) block(of label, pod *inventory.Pod, drain *Drain) {
	budget := l.allowed[of]
	allows := budget.Allowed > 0 || !pod.Ready && budget.Desired > 0 && budget.Healthy >= budget.Desired
	if drain.Obstructed || allows && len(pod.Budgets) == 1 {
		return
	}
	blocked, named := l.of(of), Pod{Name: pod.Name, Node: pod.Node}
	if len(pod.Budgets) > 1 {
		blocked.Undrainable = append(blocked.Undrainable, named)
	} else {
		blocked.Waiting = append(blocked.Waiting, named)
	}
	if drain.Forced() {
		blocked.Forced++
	}
}
