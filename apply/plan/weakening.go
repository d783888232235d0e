package plan

import (
	"fmt"
	"maps"
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
func (d *Difference) Weakenings(cluster Cluster, now time.Time) []Weakening {
	changes := map[string][]string{}
	members := map[string]int(nil)
	for _, change := range d.PoolChanges {
		if change.Live == nil || change.Live.Spec.Rollout == nil {
			continue
		}
		var after *v1.Rollout
		if pool := change.After(); pool != nil && change.Action != Delete {
			after = pool.Spec.Rollout
		}
		if members == nil {
			members = d.members(cluster)
		}
		changes[change.Name] = Weakened(change.Live.Spec.Rollout, after, members[change.Name], now)
	}
	for pool, texts := range d.lessGoverned(cluster) {
		changes[pool] = append(changes[pool], texts...)
	}
	weakenings := []Weakening{}
	for _, pool := range slices.Sorted(maps.Keys(changes)) {
		if len(changes[pool]) > 0 {
			weakenings = append(weakenings, Weakening{Pool: pool, Changes: changes[pool]})
		}
	}
	return weakenings
}

// members is how many nodes each pool has afterwards.
func (d *Difference) members(cluster Cluster) map[string]int {
	members, expansion := map[string]int{}, d.Expansion()
	for _, node := range cluster.Nodes {
		for _, pool := range CurrentMembers(node, expansion) {
			members[pool]++
		}
	}
	return members
}

// Weakened says in what a rollout is weaker than another one before it, for a pool of so
// many nodes; nothing where it is not. Nil is no rollout. An exclusion that is over at a
// moment is not missed. What can be weaker or not counts as weaker: another window, and a
// percentage in place of a number where no nodes are known.
func Weakened(before, after *v1.Rollout, nodes int, now time.Time) []string {
	switch {
	case before == nil:
		return nil
	case after == nil:
		return []string{"the rollout is removed"}
	}
	var changes []string
	add := func(weaker bool, format string, args ...any) {
		if weaker {
			changes = append(changes, fmt.Sprintf(format, args...))
		}
	}
	add(weakerLimit(before.MaxUnavailable, after.MaxUnavailable, nodes), "maxUnavailable %s -> %s", limitText(before.MaxUnavailable, "any"), limitText(after.MaxUnavailable, "any"))
	none := intstr.FromInt32(0)
	was, is := before.MaxFailures, after.MaxFailures
	add(weakerLimit(ptr.To(ptr.Deref(was, none)), ptr.To(ptr.Deref(is, none)), nodes), "maxFailures %s -> %s", limitText(was, "0"), limitText(is, "0"))
	add(duration(after.MinReady) < duration(before.MinReady), "minReady %s -> %s", duration(before.MinReady), duration(after.MinReady))
	changes = append(changes, weakenedDeadline(duration(before.ProgressDeadline), duration(after.ProgressDeadline))...)
	changes = append(changes, weakenedConditions(before.NodeConditions, after.NodeConditions)...)
	changes = append(changes, weakenedDrain(drainingOf(before.Drain), drainingOf(after.Drain))...)
	changes = append(changes, weakenedWaves(before.Waves, after.Waves)...)
	changes = append(changes, weakenedCalendar(before, after, now)...)
	add(before.Order == v1.OrderByZone && after.Order != v1.OrderByZone, "order Zone removed")
	add(before.Paused && !after.Paused, "paused no longer")
	return changes
}

// weakenedConditions are the conditions that nodes need not meet any more; another status is
// another condition.
func weakenedConditions(before, after []v1.NodeCondition) (changes []string) {
	for _, was := range before {
		at := slices.IndexFunc(after, func(is v1.NodeCondition) bool { return is.Type == was.Type })
		switch {
		case at < 0:
			changes = append(changes, fmt.Sprintf("condition %s=%s is removed", was.Type, was.Want()))
		case after[at].Want() != was.Want():
			changes = append(changes, fmt.Sprintf("condition %s=%s -> %s", was.Type, was.Want(), after[at].Want()))
		}
	}
	return changes
}

// weakenedDrain is in what a drain lets pods be ended sooner than before: not at all, or by
// force, or by force after less time.
func weakenedDrain(before, after *draining) []string {
	switch {
	case before == nil:
		return nil
	case after == nil:
		return []string{"drain removed"}
	case !before.force && after.force:
		return []string{"drain.onTimeout Hold -> Force"}
	case after.force && after.timeout < before.timeout:
		return []string{fmt.Sprintf("drain.timeout %s -> %s", before.timeout, after.timeout)}
	}
	return nil
}

// weakenedDeadline is in what a rollout may take longer without notice.
func weakenedDeadline(before, after time.Duration) []string {
	switch {
	case before == 0 || after != 0 && after <= before:
		return nil
	case after == 0:
		return []string{"progressDeadline removed"}
	default:
		return []string{fmt.Sprintf("progressDeadline %s -> %s", before, after)}
	}
}

func duration(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func limitText(limit *intstr.IntOrString, none string) string {
	if limit == nil {
		return none
	}
	return limit.String()
}

// weakerLimit reports whether a limit lets more be unavailable than another one before it.
func weakerLimit(before, after *intstr.IntOrString, nodes int) bool {
	switch {
	case before == nil:
		return false
	case after == nil:
		return true
	case before.Type != after.Type && nodes == 0:
		return *after != intstr.FromInt32(0) && *after != intstr.FromString("0%")
	case before.Type != after.Type:
		return atMostOf(*after, nodes) > atMostOf(*before, nodes)
	}
	const many = 100 // of which a percentage is itself
	return atMostOf(*after, many) > atMostOf(*before, many)
}

// weakenedWaves is in what nodes may follow sooner: also those that another wave has now,
// which may be any where the waves come in another order, or choose other nodes.
func weakenedWaves(before, after []v1.Wave) (changes []string) {
	changes = reordered(before, after)
	for _, was := range before {
		at := slices.IndexFunc(after, func(w v1.Wave) bool { return w.Name == was.Name })
		if at < 0 {
			changes = append(changes, fmt.Sprintf("wave %s is removed", was.Name))
			continue
		}
		is := after[at]
		if !reflect.DeepEqual(was.Selector, is.Selector) {
			changes = append(changes, fmt.Sprintf("wave %s selects other nodes", was.Name))
		}
		if was.Approval == v1.ApprovalRequired && is.Approval != v1.ApprovalRequired {
			changes = append(changes, fmt.Sprintf("wave %s needs no approval", was.Name))
		}
		if duration(is.Soak) < duration(was.Soak) {
			changes = append(changes, fmt.Sprintf("soak of wave %s %s -> %s", was.Name, duration(was.Soak), duration(is.Soak)))
		}
		if limitText(was.Nodes, "any") != limitText(is.Nodes, "any") {
			changes = append(changes, fmt.Sprintf("nodes of wave %s %s -> %s", was.Name, limitText(was.Nodes, "any"), limitText(is.Nodes, "any")))
		}
	}
	return changes
}

// reordered are the waves that come before one which they have not come before: those that
// are new, or came after it.
func reordered(before, after []v1.Wave) (changes []string) {
	place := func(wave v1.Wave) int {
		return slices.IndexFunc(before, func(was v1.Wave) bool { return was.Name == wave.Name })
	}
	for i, wave := range after {
		for _, next := range after[i+1:] {
			if then := place(next); then >= 0 && (place(wave) < 0 || place(wave) > then) {
				changes = append(changes, fmt.Sprintf("wave %s comes before wave %s", wave.Name, next.Name))
				break
			}
		}
	}
	return changes
}

func weakenedCalendar(before, after *v1.Rollout, now time.Time) (changes []string) {
	switch {
	case len(before.Windows) == 0:
	case len(after.Windows) == 0:
		changes = append(changes, "windows are removed")
	default:
		for _, is := range after.Windows {
			if !slices.ContainsFunc(before.Windows, func(was v1.Window) bool {
				return was.Schedule == is.Schedule && was.TimeZone == is.TimeZone && was.Duration.Duration >= is.Duration.Duration
			}) {
				changes = append(changes, fmt.Sprintf("window %q for %s is new", is.Schedule, is.Duration.Duration))
			}
		}
	}
	for _, was := range before.Exclusions {
		if over := was.End != nil && !was.End.After(now); over || slices.ContainsFunc(after.Exclusions, func(is v1.Exclusion) bool { return lasts(is, was) }) {
			continue
		}
		switch {
		case was.Reason != "":
			changes = append(changes, fmt.Sprintf("exclusion %q is removed or shorter", was.Reason))
		case was.Start != nil:
			changes = append(changes, fmt.Sprintf("the exclusion from %s is removed or shorter", describeMoment(was.Start.UTC())))
		default:
			changes = append(changes, fmt.Sprintf("exclusion %q is removed or shorter", was.Schedule))
		}
	}
	return changes
}

// lasts reports whether an exclusion is in force at least when another one was.
func lasts(is, was v1.Exclusion) bool {
	if was.Start == nil || is.Start == nil {
		return was.Start == nil && is.Start == nil && is.Schedule == was.Schedule && is.TimeZone == was.TimeZone && duration(is.Duration) >= duration(was.Duration)
	}
	return !is.Start.After(was.Start.Time) && (is.End == nil || was.End != nil && !is.End.Before(was.End))
}
