package impact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/inventory"
)

// freshTaints are the NoExecute taints of a node that were not there before. A
// taint whose value changes is another one.
func freshTaints(at *place) []corev1.Taint {
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

// unbearable are the texts of those taints that a pod does not tolerate for good.
// They come sorted, as the taints do.
func unbearable(taints []corev1.Taint, pod *inventory.Pod) []string {
	var texts []string
	for i := range taints {
		if !stayUnder(taints[i:i+1], pod.Tolerations).forGood {
			texts = append(texts, taints[i].ToString())
		}
	}
	return slices.Clip(texts)
}
