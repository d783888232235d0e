package impact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// setDrains notes of which taints nodes are drained before these come.
func (w *world) setDrains(drains map[string][]plan.DrainBefore) {
	for _, at := range w.pairs {
		if at.drains = drains[at.name]; len(at.drains) == 0 {
			continue
		}
		for _, taint := range at.after.taints.list {
			if !slices.ContainsFunc(at.drains, func(drain plan.DrainBefore) bool { return plainTaint(drain.Taint) == taint }) {
				at.undrained = append(at.undrained, taint)
			}
		}
	}
}

// drainOf is how a pod that a new taint deletes is drained before that comes; nil where it
// is left to the taints, which come after the drain of others where afterDrain is set.
// Whoever goes by a taint that waits for no drain is not drained, whatever comes later.
func drainOf(at *nodePair, pod *inventory.Pod) (_ *Drain, afterDrain bool) {
	if len(at.drains) == 0 {
		return nil, false
	}
	if _, evicted := evictedAfter(at.before.taints.list, at.undrained, pod); evicted {
		return nil, false
	}
	drainable := plan.DrainablePod{
		Controller: pod.Owner.Kind, Static: pod.Static, Finished: pod.Finished, Terminating: pod.Terminating,
		Tolerates: func(taint *corev1.Taint) bool { return tolerationOf(taint, pod.Tolerations) != nil },
	}
	before := slices.DeleteFunc(slices.Clone(at.drains), func(drain plan.DrainBefore) bool { return !drainable.EvictedBefore(drain.Taint) })
	if len(before) == 0 {
		return nil, true
	}
	drain := together(before)
	drain.ComesAgain = !drain.Obstructed && pod.Owner.Kind != "" && !slices.ContainsFunc(at.drains, func(of plan.DrainBefore) bool {
		return of.Obstacle == "" && !drainable.ComesAgain(of.Taint)
	})
	return drain, false
}

// together is how pods are drained of several taints: the first of those that come after a
// timeout deletes them, and they are evicted if nothing prevents that for one of them.
func together(drains []plan.DrainBefore) *Drain {
	timed, onTimeout := drains, v1.HoldOnTimeout
	if forced := slices.DeleteFunc(slices.Clone(drains), func(drain plan.DrainBefore) bool { return !drain.Force }); len(forced) > 0 {
		timed, onTimeout = forced, v1.ForceOnTimeout
	}
	first := timed[0].Timeout
	for _, drain := range timed {
		first = min(first, drain.Timeout)
	}
	return &Drain{
		TimeoutSeconds: int64(first.Seconds()), OnTimeout: string(onTimeout),
		Obstructed: !slices.ContainsFunc(drains, func(drain plan.DrainBefore) bool { return drain.Obstacle == "" }),
	}
}

// Forced reports whether taints delete the pods that are left when the drain is overdue.
func (d *Drain) Forced() bool { return d.OnTimeout == string(v1.ForceOnTimeout) }

// asks reports whether pods go only as PodDisruptionBudgets allow, until the drain is
// overdue.
func (d *Drain) asks() bool { return d != nil && !(d.Obstructed && d.Forced()) }
