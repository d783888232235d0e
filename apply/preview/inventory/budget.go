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
	keys     []string
}

// newProtection reads the selectors as policy/v1 defines them: an empty one
// selects every pod of the namespace, a missing one none. The API server
// accepts no invalid one; such a one selects nothing.
func newProtection(budgets []Budget) protection {
	all := protection{}
	for _, budget := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(budget.Selector)
		if err != nil {
			continue
		}
		var keys []string
		if requirements, selectable := selector.Requirements(); selectable {
			for _, requirement := range requirements {
				keys = append(keys, requirement.Key())
			}
		}
		all[budget.Namespace] = append(all[budget.Namespace], protector{budget.Name, selector, keys})
	}
	return all
}

// of returns the names of the budgets that select a pod, and those of its labels that
// budgets select by.
func (p protection) of(namespace string, pod labels.Set) (names []string, read map[string]string) {
	for _, each := range p[namespace] {
		if each.selector.Matches(pod) {
			names = append(names, each.name)
		}
		for _, key := range each.keys {
			if value, has := pod[key]; has {
				put(&read, key, value)
			}
		}
	}
	return names, read
}
