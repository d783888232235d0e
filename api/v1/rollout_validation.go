package v1

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateRollout(rollout *Rollout, at *field.Path) field.ErrorList {
	if rollout == nil {
		return nil
	}
	problems := ValidateCalendar(rollout.Windows, rollout.Exclusions, at)
	if limit := rollout.MaxUnavailable; limit != nil && !isLimit(*limit) {
		problems = append(problems, field.Invalid(at.Child("maxUnavailable"), limit.String(), "must be a number from 0 up or a percentage from 0% to 100%"))
	}
	if ready := rollout.MinReady; ready != nil && (ready.Duration < 0 || ready.Duration > MaxMinReady) {
		problems = append(problems, field.Invalid(at.Child("minReady"), ready.Duration.String(), "must be between 0s and 24h"))
	}
	orders := []RolloutOrder{OrderByName, OrderByZone}
	if rollout.Order != "" && !slices.Contains(orders, rollout.Order) {
		problems = append(problems, field.NotSupported(at.Child("order"), rollout.Order, orders))
	}
	problems = append(problems, validateDrain(rollout.Drain, at.Child("drain"))...)
	if deadline := rollout.ProgressDeadline; deadline != nil && (deadline.Duration < minProgressDeadline || deadline.Duration > maxProgressDeadline) {
		problems = append(problems, field.Invalid(at.Child("progressDeadline"), deadline.Duration.String(), "must be between 1m and 744h, which is 31 days"))
	}
	if failures := rollout.MaxFailures; failures != nil && !isLimit(*failures) {
		problems = append(problems, field.Invalid(at.Child("maxFailures"), failures.String(), "must be a number from 0 up or a percentage from 0% to 100%"))
	}
	problems = append(problems, validateNodeConditions(rollout.NodeConditions, at.Child("nodeConditions"))...)
	return append(problems, validateWaves(rollout.Waves, at.Child("waves"))...)
}

func validateNodeConditions(conditions []NodeCondition, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if conditions != nil && len(conditions) == 0 {
		problems = append(problems, field.Required(at, "leave it out to have none"))
	}
	if len(conditions) > maxNodeConditions {
		problems = append(problems, field.TooMany(at, len(conditions), maxNodeConditions))
	}
	seen := map[string]bool{}
	for i, condition := range conditions {
		kind := at.Index(i).Child("type")
		switch {
		case condition.Type == "":
			problems = append(problems, field.Required(kind, "a condition needs a type"))
		case condition.Type == string(corev1.NodeReady):
			problems = append(problems, field.Invalid(kind, condition.Type, "Ready always counts: name others"))
		case seen[condition.Type]:
			problems = append(problems, field.Duplicate(kind, condition.Type))
		default:
			problems = append(problems, validateQualifiedName(condition.Type, kind)...)
		}
		seen[condition.Type] = true
		statuses := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}
		if condition.Status != "" && !slices.Contains(statuses, condition.Status) {
			problems = append(problems, field.NotSupported(at.Index(i).Child("status"), condition.Status, statuses))
		}
	}
	return problems
}

// MaxMinReady is the longest that a node that has followed counts as unavailable.
const MaxMinReady = 24 * time.Hour

// The bounds that the schema sets.
const (
	maxWaves          = 64
	maxWaveLabels     = 8
	maxNodeConditions = 8
	maxSoak           = 31 * 24 * time.Hour
	minDrainTimeout   = time.Minute
	maxDrainTimeout   = 31 * 24 * time.Hour

	minProgressDeadline = time.Minute
	maxProgressDeadline = 31 * 24 * time.Hour
)

// RestWave is the name of the last wave, of the nodes that are in no other.
const RestWave = "rest"

func validateWaves(waves []Wave, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if waves != nil && len(waves) == 0 {
		problems = append(problems, field.Required(at, "leave it out to have none"))
	}
	if len(waves) > maxWaves {
		problems = append(problems, field.TooMany(at, len(waves), maxWaves))
	}
	seen := map[string]bool{}
	for i, wave := range waves {
		each := at.Index(i)
		switch messages := utilvalidation.IsDNS1123Label(wave.Name); {
		case wave.Name == "":
			problems = append(problems, field.Required(each.Child("name"), "a wave needs a name"))
		case len(messages) > 0:
			problems = append(problems, field.Invalid(each.Child("name"), wave.Name, strings.Join(messages, "; ")))
		case seen[wave.Name]:
			problems = append(problems, field.Duplicate(each.Child("name"), wave.Name))
		}
		seen[wave.Name] = true
		problems = append(problems, validateWave(&wave, each)...)
	}
	return problems
}

func validateDrain(drain *Drain, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if drain == nil {
		return nil
	}
	if timeout := drain.Timeout; timeout != nil && (timeout.Duration < minDrainTimeout || timeout.Duration > maxDrainTimeout) {
		problems = append(problems, field.Invalid(at.Child("timeout"), timeout.Duration.String(), "must be between 1m and 744h, which is 31 days"))
	}
	ends := []DrainTimeout{HoldOnTimeout, ForceOnTimeout}
	if drain.OnTimeout != "" && !slices.Contains(ends, drain.OnTimeout) {
		problems = append(problems, field.NotSupported(at.Child("onTimeout"), drain.OnTimeout, ends))
	}
	return problems
}

func validateWave(wave *Wave, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if wave.Selector == nil && wave.Nodes == nil {
		problems = append(problems, field.Required(at, "a wave must have a selector, or nodes, or both"))
	}
	if selector := wave.Selector; selector != nil {
		labels := at.Child("selector", "matchLabels")
		switch count := len(selector.MatchLabels); {
		case count == 0:
			problems = append(problems, field.Required(labels, "it would choose every node: leave the selector out"))
		case count > maxWaveLabels:
			problems = append(problems, field.TooMany(labels, count, maxWaveLabels))
		}
		for key, value := range selector.MatchLabels {
			problems = append(problems, validateQualifiedName(key, labels.Key(key))...)
			problems = append(problems, validateLabelValue(string(value), labels.Key(key))...)
		}
	}
	if nodes := wave.Nodes; nodes != nil && (!isLimit(*nodes) || isNothing(*nodes)) {
		problems = append(problems, field.Invalid(at.Child("nodes"), nodes.String(), "must be a number from 1 up or a percentage from 1% to 100%"))
	}
	if soak := wave.Soak; soak != nil && (soak.Duration < 0 || soak.Duration > maxSoak) {
		problems = append(problems, field.Invalid(at.Child("soak"), soak.Duration.String(), "must be between 0s and 744h, which is 31 days"))
	}
	approvals := []WaveApproval{ApprovalNone, ApprovalRequired}
	if wave.Approval != "" && !slices.Contains(approvals, wave.Approval) {
		problems = append(problems, field.NotSupported(at.Child("approval"), wave.Approval, approvals))
	}
	return sorted(problems)
}

// isNothing reports whether a valid limit is 0.
func isNothing(limit intstr.IntOrString) bool {
	return strings.Trim(limit.String(), "0%") == ""
}

var percentage = regexp.MustCompile(`^(100|[0-9]{1,2})%$`)

func isLimit(limit intstr.IntOrString) bool {
	return limit.Type == intstr.Int && limit.IntVal >= 0 || limit.Type == intstr.String && percentage.MatchString(limit.StrVal)
}

// WarnRollout returns what is valid in the rollout of a pool and makes no sense: see
// [WarnCalendar].
func WarnRollout(pool *NodePool) field.ErrorList {
	if pool.Spec.Rollout == nil {
		return nil
	}
	rollout, at := pool.Spec.Rollout, field.NewPath("spec", "rollout")
	warnings := WarnCalendar(rollout.Windows, rollout.Exclusions, at)
	warnings = append(warnings, warnWaves(rollout, at.Child("waves"))...)
	if rollout.MaxUnavailable == nil && rollout.Waves == nil {
		idle := map[string]bool{"maxFailures": rollout.MaxFailures != nil, "minReady": rollout.MinReady != nil, "order": rollout.Order != ""}
		for _, name := range slices.Sorted(maps.Keys(idle)) {
			if idle[name] {
				warnings = append(warnings, field.Invalid(at.Child(name), nil, "has no effect without maxUnavailable or waves"))
			}
		}
	}
	if rollout.MaxUnavailable == nil && rollout.Waves == nil && rollout.Drain == nil {
		const idle = "has no effect without maxUnavailable, waves or drain"
		if rollout.ProgressDeadline != nil {
			warnings = append(warnings, field.Invalid(at.Child("progressDeadline"), nil, idle))
		}
		if rollout.NodeConditions != nil {
			warnings = append(warnings, field.Invalid(at.Child("nodeConditions"), nil, idle))
		}
	}
	if limit := rollout.MaxUnavailable; limit != nil && isNothing(*limit) {
		warnings = append(warnings, field.Invalid(at.Child("maxUnavailable"), nil, "0 lets no node follow; to stop for a time, set paused"))
	}
	return warnings
}

// warnWaves returns what makes no sense in waves: names that say something else, waves that no
// node can be in, and soaks that no window is long enough for.
func warnWaves(rollout *Rollout, at *field.Path) field.ErrorList {
	var warnings field.ErrorList
	for i, wave := range rollout.Waves {
		if wave.Name == RestWave {
			warnings = append(warnings, field.Invalid(at.Index(i).Child("name"), nil, "rest is the name of the nodes in no wave"))
		}
		before := slices.IndexFunc(rollout.Waves[:i], func(other Wave) bool { return takesAllOf(other, wave) })
		if before >= 0 {
			warnings = append(warnings, field.Invalid(at.Index(i), nil, fmt.Sprintf("has no nodes: wave %s before it takes them all", rollout.Waves[before].Name)))
		}
		if wave.Soak == nil {
			continue
		}
		if longest := longestOpening(rollout.Windows, wave.Soak.Duration); longest > 0 {
			warnings = append(warnings, field.Invalid(at.Index(i).Child("soak"), nil,
				fmt.Sprintf("%s is longer than the longest window, %s", wave.Soak.Duration, longest)))
		}
	}
	return warnings
}

// takesAllOf reports whether a wave has all nodes that a later one could have.
func takesAllOf(wave, later Wave) bool {
	if wave.Nodes != nil && wave.Nodes.String() != "100%" {
		return false
	}
	if wave.Selector == nil {
		return true
	}
	if later.Selector == nil {
		return false
	}
	for key, value := range wave.Selector.MatchLabels {
		if other, found := later.Selector.MatchLabels[key]; !found || other != value {
			return false
		}
	}
	return true
}

// longestOpening is how long the longest opening of windows lasts, where that is shorter than
// some time; 0 where it is not. Windows that overlap or touch are one opening.
func longestOpening(windows []Window, than time.Duration) (longest time.Duration) {
	if len(windows) == 0 || slices.ContainsFunc(windows, func(w Window) bool { return w.Duration.Duration >= than }) {
		return 0
	}
	const looked = 15 // two weeks of nights
	for _, opening := range calendarOf(windows, nil).Openings(validFrom, looked) {
		if opening.End.IsZero() {
			return 0
		}
		longest = max(longest, opening.End.Sub(opening.Start))
	}
	if longest >= than {
		return 0
	}
	return longest
}
