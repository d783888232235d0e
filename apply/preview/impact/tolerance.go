package impact

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
)

// tolerance is what a pod tolerates, interned: most pods share a few.
type tolerance struct {
	tolerations []corev1.Toleration
	// known caches by the number of a taint set whether it keeps the pod out.
	known []verdict
}

type verdict uint8

const (
	unknown verdict = iota
	letIn
	shutOut
)

// tolerance returns the interned tolerance of these tolerations.
func (w *world) tolerance(tolerations []corev1.Toleration) *tolerance {
	key := tolerationsKey(tolerations)
	t := w.tolerances[key]
	if t == nil {
		t = &tolerance{tolerations: tolerations}
		w.tolerances[key] = t
	}
	return t
}

// tolerationsKey returns the same text for tolerations that are equal to the
// scheduler, which ignores their duration.
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

// toleratesCordon reports whether the pod can be scheduled on a cordoned node.
func (t *tolerance) toleratesCordon() bool {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return schedulinghelper.TolerationsTolerateTaint(silent, t.tolerations, &cordon, comparisons)
}
