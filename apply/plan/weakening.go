package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Weakening is a pool whose rollout lets more happen, or sooner, than it did.
type Weakening struct {
	Pool string `json:"pool"`
	// Changes say in what, each in a few words: "maxUnavailable 1 -> 5".
	Changes []string `json:"changes"`
}

func (w Weakening) String() string {
	return fmt.Sprintf("weakens the rollout of pool %q: %s", w.Pool, strings.Join(w.Changes, ", "))
}

// Weakenings are the pools whose rollouts the difference weakens at a moment, sorted by
// name. A pool that is deleted takes its rollout with it.
func (d *Difference) Weakenings(now time.Time) []Weakening {
	weakenings := []Weakening{}
	for _, change := range d.PoolChanges {
		if change.Live == nil {
			continue
		}
		var after *v1.Rollout
		if pool := change.After(); pool != nil && change.Action != Delete {
			after = pool.Spec.Rollout
		}
		if changes := Weakened(change.Live.Spec.Rollout, after, now); len(changes) > 0 {
			weakenings = append(weakenings, Weakening{Pool: change.Name, Changes: changes})
		}
	}
	slices.SortFunc(weakenings, func(a, b Weakening) int { return cmp.Compare(a.Pool, b.Pool) })
	return weakenings
}

// Weakened says in what a rollout is weaker than another one before it; nil is no rollout.
// A number is looser, or a wave, a window, an exclusion or a condition is gone or another one.
// An exclusion that is over at a moment is not missed.
func Weakened(before, after *v1.Rollout, now time.Time) (changes []string) {
	switch {
	case before == nil:
		return nil
	case after == nil:
		return []string{"the rollout is removed"}
	}
	add := func(weaker bool, format string, args ...any) {
		if weaker {
			changes = append(changes, fmt.Sprintf(format, args...))
		}
	}
	none := intstr.FromInt32(0)
	add(looserLimit(before.MaxUnavailable, after.MaxUnavailable), "maxUnavailable %s -> %s", limitText(before.MaxUnavailable), limitText(after.MaxUnavailable))
	was, is := ptr.To(ptr.Deref(before.MaxFailures, none)), ptr.To(ptr.Deref(after.MaxFailures, none))
	add(looserLimit(was, is), "maxFailures %s -> %s", limitText(was), limitText(is))
	add(duration(after.MinReady) < duration(before.MinReady), "minReady %s -> %s", duration(before.MinReady), duration(after.MinReady))
	deadline, then := duration(before.ProgressDeadline), duration(after.ProgressDeadline)
	add(deadline > 0 && (then == 0 || then > deadline), "progressDeadline %s -> %s", deadline, then)
	add(weakerDrain(drainingOf(before.Drain), drainingOf(after.Drain)), "drain %s -> %s", drainText(before.Drain), drainText(after.Drain))
	for _, condition := range lost(before.NodeConditions, after.NodeConditions, func(is, was v1.NodeCondition) bool { return is.Type == was.Type && is.Want() == was.Want() }) {
		add(true, "condition %s=%s is removed", condition.Type, condition.Want())
	}
	for i, wave := range before.Waves {
		if i >= len(after.Waves) || !isAsStrict(after.Waves[i], wave) {
			add(true, "wave %s is removed or changed", wave.Name)
			break
		}
	}
	add(len(before.Windows) > 0 && len(after.Windows) == 0, "windows are removed")
	for _, window := range lost(after.Windows, before.Windows, func(was, is v1.Window) bool {
		return was.Schedule == is.Schedule && was.TimeZone == is.TimeZone && was.Duration.Duration >= is.Duration.Duration
	}) {
		add(len(before.Windows) > 0, "window %q for %s is new", window.Schedule, window.Duration.Duration)
	}
	for _, exclusion := range lost(before.Exclusions, after.Exclusions, lasts) {
		add(exclusion.End == nil || exclusion.End.After(now), "exclusion %q is removed or shorter", exclusionText(exclusion))
	}
	add(before.Order == v1.OrderByZone && after.Order != v1.OrderByZone, "order Zone removed")
	add(before.Paused && !after.Paused, "paused no longer")
	return changes
}

// lost are the items of a list that no item of another list covers.
func lost[T any](before, after []T, covers func(is, was T) bool) []T {
	return slices.DeleteFunc(slices.Clone(before), func(was T) bool {
		return slices.ContainsFunc(after, func(is T) bool { return covers(is, was) })
	})
}

// looserLimit reports whether a limit lets more be unavailable than another one before it. A
// percentage in place of a number counts as looser.
func looserLimit(before, after *intstr.IntOrString) bool {
	switch {
	case before == nil:
		return false
	case after == nil:
		return true
	case before.Type != after.Type:
		return after.String() != "0" && after.String() != "0%"
	}
	const many = 100 // of which a percentage is itself
	return atMostOf(*after, many) > atMostOf(*before, many)
}

// weakerDrain reports whether a drain lets pods be ended sooner than another one before it.
func weakerDrain(before, after *draining) bool {
	return before != nil && (after == nil || after.force && (!before.force || after.timeout < before.timeout))
}

func drainText(drain *v1.Drain) string {
	switch d := drainingOf(drain); {
	case d == nil:
		return "none"
	case d.force:
		return "Force after " + d.timeout.String()
	}
	return string(v1.HoldOnTimeout)
}

// isAsStrict reports whether a wave is the same as another one before it, or asks for more.
func isAsStrict(is, was v1.Wave) bool {
	if duration(is.Soak) > duration(was.Soak) {
		is.Soak = was.Soak
	}
	if is.Approval == v1.ApprovalRequired {
		is.Approval = was.Approval
	}
	return reflect.DeepEqual(is, was)
}

// lasts reports whether an exclusion is in force at least when another one was.
func lasts(is, was v1.Exclusion) bool {
	if was.Start == nil || is.Start == nil {
		return was.Start == nil && is.Start == nil && is.Schedule == was.Schedule && is.TimeZone == was.TimeZone && duration(is.Duration) >= duration(was.Duration)
	}
	return !is.Start.After(was.Start.Time) && (is.End == nil || was.End != nil && !is.End.Before(was.End))
}

func exclusionText(exclusion v1.Exclusion) string {
	switch {
	case exclusion.Reason != "":
		return exclusion.Reason
	case exclusion.Start != nil:
		return "from " + describeMoment(exclusion.Start.UTC())
	}
	return string(exclusion.Schedule)
}

func duration(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func limitText(limit *intstr.IntOrString) string {
	if limit == nil {
		return "any"
	}
	return limit.String()
}
