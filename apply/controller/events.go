package controller

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// event records what happened to a pool, with the revision that it is of.
func (l *poolLoop) event(pool *v1.NodePool, kind, reason, action, format string, args ...any) {
	if revision := pool.Annotations[v1.RevisionAnnotation]; revision != "" {
		format += " (%s)"
		args = append(args, revision)
	}
	l.events.Eventf(pool, nil, kind, reason, action, "%s", eventNote(format, args...))
}

// maxMessage bounds the message of a condition, in characters. The schema takes
// 32,768, and a status that is refused would go on telling what was before.
const maxMessage = 8192

func clip(message string) string { return sanitize.ClipRunes(message, maxMessage) }

// maxEvent is what the API server takes as the note of an event, in bytes.
const maxEvent = 1024

func eventNote(format string, args ...any) string {
	return sanitize.Clip(fmt.Sprintf(format, args...), maxEvent)
}

// deedEvents tells what was done on nodes since the last time, and of a RuntimeClass
// that was created meanwhile: a new pool is one event.
func (l *poolLoop) deedEvents(pool *v1.NodePool, deeds map[string]deed) {
	var updated, repaired, released int32
	for _, did := range deeds {
		updated += one(did.updated)
		repaired += one(did.repaired)
		released += one(did.released)
	}
	switch class, created := l.created.get(pool.Name); {
	case created && updated > 0:
		l.created.take(pool.Name)
		l.event(pool, corev1.EventTypeNormal, "Updated", "update", "created RuntimeClass %s and updated %s", class, nodes(updated))
	case updated > 0:
		l.event(pool, corev1.EventTypeNormal, "Updated", "update", "updated %s", nodes(updated))
	}
	l.createdEvent(pool)
	if repaired > 0 {
		l.event(pool, corev1.EventTypeNormal, "Repaired", "update", "put back what was changed by hand on %s", nodes(repaired))
	}
	if released > 0 {
		l.event(pool, corev1.EventTypeNormal, "Released", "update", "released %s", nodes(released))
	}
}

// createdEvent tells of a RuntimeClass of which no event has told yet.
func (l *poolLoop) createdEvent(pool *v1.NodePool) {
	if class, created := l.created.take(pool.Name); created {
		l.event(pool, corev1.EventTypeNormal, "RuntimeClass", "create", "created RuntimeClass %s", class)
	}
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// conditionEvents reports a trouble once, when it begins, and its end.
func (l *poolLoop) conditionEvents(before *v1.NodePool, after v1.NodePoolStatus, found troubles) {
	reported, known := l.reported.get(before.Name)
	for _, kind := range []string{v1.ConflictedCondition, v1.StalledCondition} {
		was := meta.FindStatusCondition(before.Status.Conditions, kind)
		is := meta.FindStatusCondition(after.Conditions, kind)
		// A conflict and a contest stall the pool as well: one event is enough.
		if kind == v1.StalledCondition && (hasOwnEvent(is) || hasOwnEvent(was)) {
			continue
		}
		stood := was != nil && was.Status == metav1.ConditionTrue
		same := stood && (known && reported[kind].equal(found[kind]) || !known && sameTrouble(was, is))
		switch {
		case is.Status == metav1.ConditionTrue && !same:
			l.event(before, corev1.EventTypeWarning, is.Reason, "reconcile", "%s", is.Message)
		case is.Status == metav1.ConditionFalse && stood:
			l.event(before, corev1.EventTypeNormal, was.Reason+"Resolved", "reconcile", "no longer: %s", was.Message)
		}
	}
	l.reported.set(before.Name, found)
}

// hasOwnEvent reports whether a pool is stalled by what has a condition of its own.
func hasOwnEvent(stalled *metav1.Condition) bool {
	return stalled != nil && (stalled.Reason == v1.ConflictReason || stalled.Reason == v1.ContestedReason)
}

// contestEvents reports a contest once, when it begins, and that there is none any
// more. How often a key was put back, and on how many nodes, is no event.
func (l *poolLoop) contestEvents(before *v1.NodePool, after v1.NodePoolStatus) {
	was, is := before.Status.Contests, after.Contests
	switch {
	case is == nil && was != nil:
		l.event(before, corev1.EventTypeNormal, v1.ContestedReason+"Resolved", "reconcile", "no longer: %s", contestsIn(before.Name, was).String())
	case is != nil && moreContested(was, is):
		l.event(before, corev1.EventTypeWarning, v1.ContestedReason, "reconcile", "%s", contestsIn(before.Name, is).String())
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

func past(action plan.Action) string {
	return strings.TrimSuffix(string(action), "e") + "ed"
}
