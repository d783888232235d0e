package impact

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/nodepools/nodepools/apply/plan"
)

// taintSet are the taints of a node that keep pods out, those with NoSchedule and
// NoExecute. Nodes with equal taints share one set, so that results about it are
// computed once.
type taintSet struct {
	// number of the set, counted from 0.
	number int
	// list, sorted as texts.
	list []corev1.Taint
}

// silent discards what Kubernetes' matching logs about values that are not numbers.
var silent klog.Logger

// comparisons are the operators Lt and Gt of tolerations. The API server
// accepts them only where the feature TaintTolerationComparisonOperators is
// enabled, so a cluster whose pods have them supports them.
const comparisons = true

// intern returns the taint set of these taints, except those left out.
func (w *world) intern(taints []corev1.Taint, leftOut map[corev1.Taint]bool) *taintSet {
	var list []corev1.Taint
	for _, taint := range taints {
		if plain := plainTaint(taint); keepsOut(&taint) && !leftOut[plain] {
			list = append(list, plain)
		}
	}
	slices.SortFunc(list, func(a, b corev1.Taint) int { return strings.Compare(a.ToString(), b.ToString()) })
	key := taintsKey(list)
	set := w.taints[key]
	if set == nil {
		set = &taintSet{number: len(w.taints), list: list}
		w.taints[key] = set
	}
	return set
}

func taintsKey(taints []corev1.Taint) string {
	var key strings.Builder
	for _, taint := range taints {
		writeTexts(&key, taint.Key, taint.Value, string(taint.Effect))
	}
	return key.String()
}

// plainTaint returns a taint without the time at which it was added, which does
// not affect matching.
func plainTaint(taint corev1.Taint) corev1.Taint {
	return corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}
}

// keepsOut reports whether the scheduler keeps pods off a node for such a taint.
func keepsOut(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}

// evicts reports whether such a taint deletes the pods that a node has.
func evicts(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute }

// conditionTaints is the prefix of the keys of taints by which Kubernetes marks
// a node as not ready, out of memory, or cordoned.
const conditionTaints = "node.kubernetes.io/"

// transientTaints returns the taints by which Kubernetes marks a transient
// state of the node, as far as the node has them before and after.
func transientTaints(before, after *plan.NodeState) map[corev1.Taint]bool {
	var passing map[corev1.Taint]bool
	for _, taint := range after.Taints {
		plain := plainTaint(taint)
		if strings.HasPrefix(taint.Key, conditionTaints) && hasTaint(before.Taints, plain) {
			if passing == nil {
				passing = map[corev1.Taint]bool{}
			}
			passing[plain] = true
		}
	}
	return passing
}

func hasTaint(taints []corev1.Taint, wanted corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(taint corev1.Taint) bool { return plainTaint(taint) == plainTaint(wanted) })
}

// stay is how long the NoExecute taints of a node let a pod run there.
type stay struct {
	// tolerated is set where the pod tolerates all of them, if only for a time.
	tolerated bool
	// forGood is set where it tolerates all of them without a limit.
	forGood bool
	// seconds that it tolerates all of them.
	seconds int64
}

// endsAtOnce reports whether the pod is deleted without delay.
func (s stay) endsAtOnce() bool { return !s.forGood && s.seconds == 0 }

// stayUnder computes what the taint eviction controller of Kubernetes does: of
// each taint the first toleration that matches counts, and of these the shortest
// time; a time that is not positive is none. Taints of other effects are
// ignored.
func stayUnder(taints []corev1.Taint, tolerations []corev1.Toleration) stay {
	result := stay{tolerated: true, forGood: true}
	for i := range taints {
		if !evicts(&taints[i]) {
			continue
		}
		toleration := tolerationOf(&taints[i], tolerations)
		if toleration == nil {
			return stay{}
		}
		if toleration.TolerationSeconds == nil {
			continue
		}
		seconds := max(*toleration.TolerationSeconds, 0)
		if result.forGood || seconds < result.seconds {
			result.seconds = seconds
		}
		result.forGood = false
	}
	return result
}

// tolerationOf returns the first toleration that matches a taint, nil for none.
func tolerationOf(taint *corev1.Taint, tolerations []corev1.Toleration) *corev1.Toleration {
	for i := range tolerations {
		if tolerations[i].ToleratesTaint(silent, taint, comparisons) {
			return &tolerations[i]
		}
	}
	return nil
}
