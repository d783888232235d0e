package v1

import (
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateRollout(rollout *Rollout, at *field.Path) field.ErrorList {
	if rollout == nil {
		return nil
	}
	if rollout.Windows == nil && rollout.Exclusions == nil && rollout.MaxUnavailable == nil && rollout.MinReady == nil && !rollout.Paused {
		return field.ErrorList{field.Required(at, "it must say something: leave it out to have all nodes follow at once")}
	}
	problems := ValidateCalendar(rollout.Windows, rollout.Exclusions, at)
	if limit := rollout.MaxUnavailable; limit != nil && !isLimit(*limit) {
		problems = append(problems, field.Invalid(at.Child("maxUnavailable"), limit.String(), "must be a number from 0 up or a percentage from 0% to 100%"))
	}
	if ready := rollout.MinReady; ready != nil && (ready.Duration < 0 || ready.Duration > maxMinReady) {
		problems = append(problems, field.Invalid(at.Child("minReady"), ready.Duration.String(), "must be between 0s and 24h"))
	}
	return problems
}

const maxMinReady = 24 * time.Hour

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
	if rollout.MinReady != nil && rollout.MaxUnavailable == nil {
		warnings = append(warnings, field.Invalid(at.Child("minReady"), nil, "makes no difference without maxUnavailable: all nodes follow together"))
	}
	if limit := rollout.MaxUnavailable; limit != nil && (limit.String() == "0" || limit.String() == "0%" || limit.String() == "00%") {
		warnings = append(warnings, field.Invalid(at.Child("maxUnavailable"), nil, "of 0 lets no node follow; to stop for a time, paused says so"))
	}
	return warnings
}
