package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// comesAgainPeriod is for how long a pod is left alone that has come in place of one that was
// evicted, to a node that is drained. It would come again: evicted at once, it would be so every
// few seconds for as long as the drain takes.
const comesAgainPeriod = 5 * time.Minute

// ComesAgain reports whether the next pod like this one may come to the node while it is drained
// of some taints: the NoSchedule taints that keep others off do not keep it off.
func (p DrainablePod) ComesAgain(taints ...corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(taint corev1.Taint) bool {
		twin := Twin(taint)
		return !p.Tolerates(&twin)
	})
}

// Evictions are what is known of those of a node that is drained. The zero value is nothing.
type Evictions struct {
	last EvictionRound
	// granted says when a pod of a controller was evicted last.
	granted map[types.UID]time.Time
}

// EvictionRound is what became of the pods of a node that must go.
type EvictionRound struct {
	// Asked are those that were asked to go, and Granted the controllers of those that do.
	Asked, Granted map[types.UID]bool
	// Left says until when others are left alone.
	Left map[types.UID]time.Time
	// Forced reports that the taints were to come next.
	Forced bool
}

// LeavesUntil is until when a pod is left alone that comes again; zero where it is not. What a
// controller creates on the node for one that was evicted does, if no taint keeps it off.
func (e *Evictions) LeavesUntil(drain *Drain, pod DrainablePod, now time.Time) time.Time {
	until, known := e.last.Left[pod.UID]
	if !known {
		at, granted := e.granted[pod.Owner]
		if !granted || at.After(now) {
			return time.Time{}
		}
		until = at.Add(comesAgainPeriod)
	}
	if e.last.Asked[pod.UID] || drain.Forces && !e.last.Forced || !now.Before(until) || until.Sub(now) > comesAgainPeriod || !pod.ComesAgain(drain.Taints...) {
		return time.Time{}
	}
	return until
}

// NewEvictionRound is one of which nothing is known yet.
func NewEvictionRound(drain *Drain) EvictionRound {
	return EvictionRound{Asked: map[types.UID]bool{}, Granted: map[types.UID]bool{}, Left: map[types.UID]time.Time{}, Forced: drain.Forces}
}

// Note keeps what became of a round.
func (e *Evictions) Note(round EvictionRound, now time.Time) {
	e.last = round
	maps.DeleteFunc(e.granted, func(_ types.UID, at time.Time) bool { return !now.Before(at.Add(comesAgainPeriod)) || at.After(now) })
	if e.granted == nil {
		e.granted = map[types.UID]time.Time{}
	}
	for controller := range round.Granted {
		e.granted[controller] = now
	}
}
