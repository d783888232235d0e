package pools

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// event records what happened to a pool, with the revision that it is of.
func (r *Reconciler) event(pool *v1.NodePool, kind, reason, action, format string, args ...any) {
	if revision := pool.Annotations[v1.RevisionAnnotation]; revision != "" {
		format += " (%s)"
		args = append(args, revision)
	}
	loop.Event(r.events, pool, kind, reason, action, format, args...)
}

// resultEvents records what was done on nodes since the last time, and with it that the
// RuntimeClass was created or updated meanwhile: a new pool is one event, and so is a
// changed one.
func (r *Reconciler) resultEvents(pool *v1.NodePool, results map[string]fleet.Result) {
	var updated, repaired, released int32
	for _, result := range results {
		updated += one(result.Updated)
		repaired += one(result.Repaired)
		released += one(result.Released)
	}
	switch action, waits := r.classes.get(pool.Name); {
	case waits && updated > 0:
		r.classes.take(pool.Name)
		r.event(pool, corev1.EventTypeNormal, "Updated", "update", "%s and updated %s", classChanged(pool, action), nodes(updated))
	case updated > 0:
		r.event(pool, corev1.EventTypeNormal, "Updated", "update", "updated %s", nodes(updated))
	}
	r.classEvent(pool)
	if repaired > 0 {
		r.event(pool, corev1.EventTypeNormal, "Repaired", "update", "put back what was changed by hand on %s", nodes(repaired))
	}
	if released > 0 {
		r.event(pool, corev1.EventTypeNormal, "Released", "update", "released %s", nodes(released))
	}
}

// classEvent records a change of a RuntimeClass of which there was no event yet.
func (r *Reconciler) classEvent(pool *v1.NodePool) {
	if action, waits := r.classes.take(pool.Name); waits {
		r.event(pool, corev1.EventTypeNormal, "RuntimeClass", string(action), "%s", classChanged(pool, action))
	}
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// conditionEvents reports a trouble once, when it begins, and its end. What an earlier
// process has reported is known by its reason alone.
func (r *Reconciler) conditionEvents(before *v1.NodePool, after v1.NodePoolStatus, found troubles) {
	reported, known := r.reported.get(before.Name)
	for _, kind := range []string{v1.ConflictedCondition, v1.StalledCondition} {
		was := meta.FindStatusCondition(before.Status.Conditions, kind)
		is := meta.FindStatusCondition(after.Conditions, kind)
		// A conflict and a contest stall the pool as well: one event is enough.
		if kind == v1.StalledCondition && (hasOwnEvent(is) || hasOwnEvent(was)) {
			continue
		}
		stood := was != nil && was.Status == metav1.ConditionTrue
		same := stood && (known && reported[kind].equal(found[kind]) || !known && was.Reason == is.Reason)
		switch {
		case is.Status == metav1.ConditionTrue && !same:
			r.event(before, corev1.EventTypeWarning, is.Reason, "reconcile", "%s", is.Message)
		case is.Status == metav1.ConditionFalse && stood:
			r.event(before, corev1.EventTypeNormal, was.Reason+"Resolved", "reconcile", "no longer: %s", was.Message)
		}
	}
	r.reported.set(before.Name, found)
}

// hasOwnEvent reports whether a pool is stalled by what has a condition of its own.
func hasOwnEvent(stalled *metav1.Condition) bool {
	return stalled != nil && (stalled.Reason == v1.ConflictReason || stalled.Reason == v1.ContestedReason)
}

// contestEvents reports a contest once, when it begins, and that there is none any
// more. How often a key was put back, and on how many nodes, is no event.
func (r *Reconciler) contestEvents(before *v1.NodePool, after v1.NodePoolStatus) {
	was, is := before.Status.Contests, after.Contests
	switch {
	case is == nil && was != nil:
		r.event(before, corev1.EventTypeNormal, v1.ContestedReason+"Resolved", "reconcile", "no longer: %s", contestsIn(before.Name, was).String())
	case is != nil && moreContested(was, is):
		r.event(before, corev1.EventTypeWarning, v1.ContestedReason, "reconcile", "%s", contestsIn(before.Name, is).String())
	}
}

// moreContested reports whether keys are contested that were not.
func moreContested(was, is *v1.Contests) bool {
	if was == nil || is.Keys > was.Keys {
		return true
	}
	return slices.ContainsFunc(is.First, func(key v1.ContestedKey) bool {
		// One that was not named may have been counted.
		return int(was.Keys) == len(was.First) && !slices.ContainsFunc(was.First, func(other v1.ContestedKey) bool {
			return key.Field == other.Field && key.Key == other.Key
		})
	})
}

// classChanged says what was done to the RuntimeClass of a pool.
func classChanged(pool *v1.NodePool, action plan.Action) string {
	return strings.TrimSuffix(string(action), "e") + "ed RuntimeClass " + v1.RuntimeClassName(pool.Name)
}
