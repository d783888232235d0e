package impact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// freshTaints returns the NoExecute taints of a node that it did not have
// before. A taint whose value changes is another one.
func freshTaints(at *nodePair) []corev1.Taint {
	if !at.changed || at.before.taints == at.after.taints {
		return nil
	}
	var fresh []corev1.Taint
	for _, taint := range at.after.taints.list {
		if evicts(&taint) && !hasTaint(at.before.taints.list, taint) {
			fresh = append(fresh, taint)
		}
	}
	return fresh
}

// notTolerated returns the texts of the taints that a pod does not tolerate for
// good, in the order of the taints.
func notTolerated(taints []corev1.Taint, pod *inventory.Pod) []string {
	var texts []string
	for i := range taints {
		if !stayUnder(taints[i:i+1], pod.Tolerations).forGood {
			texts = append(texts, taints[i].ToString())
		}
	}
	return slices.Clip(texts)
}
