package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// protection finds the PodDisruptionBudgets of pods, by namespace.
type protection map[string][]protector

type protector struct {
	name     string
	selector labels.Selector
}

// newProtection reads the selectors as policy/v1 defines them: an empty one
// selects every pod of the namespace, a missing one none. The API server
// accepts no invalid one; such a one selects nothing.
func newProtection(budgets []Budget) protection {
	all := protection{}
	for _, budget := range budgets {
		if selector, err := metav1.LabelSelectorAsSelector(budget.Selector); err == nil {
			all[budget.Namespace] = append(all[budget.Namespace], protector{budget.Name, selector})
		}
	}
	return all
}

// of returns the names of the budgets that select a pod.
func (p protection) of(namespace string, pod labels.Set) []string {
	var names []string
	for _, each := range p[namespace] {
		if each.selector.Matches(pod) {
			names = append(names, each.name)
		}
	}
	return names
}
