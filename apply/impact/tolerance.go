package impact

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
)

// tolerance is what a pod tolerates: one for all pods that tolerate the same,
// which are most of them.
type tolerance struct {
	tolerations []corev1.Toleration
	// known remembers by the number of a taint set whether it shuts the pod out.
	known []verdict
}

type verdict uint8

const (
	unknown verdict = iota
	letIn
	shutOut
)

// tolerance returns the one of these tolerations.
func (w *world) tolerance(tolerations []corev1.Toleration) *tolerance {
	key := tolerationsKey(tolerations)
	t := w.tolerances[key]
	if t == nil {
		t = &tolerance{tolerations: tolerations}
		w.tolerances[key] = t
	}
	return t
}

// tolerationsKey is the same text for tolerations that are the same to the
// scheduler, which asks not for how long.
func tolerationsKey(tolerations []corev1.Toleration) string {
	var key strings.Builder
	for _, toleration := range tolerations {
		writeTexts(&key, toleration.Key, string(toleration.Operator), toleration.Value, string(toleration.Effect))
	}
	return key.String()
}

// shutsOut reports whether one of the taints keeps the pod out.
func (t *tolerance) shutsOut(taints *taintSet) bool {
	if len(taints.list) == 0 {
		return false
	}
	if missing := taints.number + 1 - len(t.known); missing > 0 {
		t.known = append(t.known, make([]verdict, missing)...)
	}
	if t.known[taints.number] == unknown {
		t.known[taints.number] = letIn
		if _, found := t.firstUntolerated(taints); found {
			t.known[taints.number] = shutOut
		}
	}
	return t.known[taints.number] == shutOut
}

// firstUntolerated returns the first taint that keeps the pod out.
func (t *tolerance) firstUntolerated(taints *taintSet) (corev1.Taint, bool) {
	return schedulinghelper.FindMatchingUntoleratedTaint(silent, taints.list, t.tolerations, keepsOut, comparisons)
}

// evictedBy reports whether a NoExecute taint is not tolerated at all.
func (t *tolerance) evictedBy(taints *taintSet) bool {
	_, found := schedulinghelper.FindMatchingUntoleratedTaint(silent, taints.list, t.tolerations, evicts, comparisons)
	return found
}

// bearsCordon reports whether the pod is scheduled on a node that is cordoned.
func (t *tolerance) bearsCordon() bool {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return schedulinghelper.TolerationsTolerateTaint(silent, t.tolerations, &cordon, comparisons)
}
