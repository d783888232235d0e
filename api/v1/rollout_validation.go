package v1

import "k8s.io/apimachinery/pkg/util/validation/field"

func validateRollout(rollout *Rollout, at *field.Path) field.ErrorList {
	if rollout == nil {
		return nil
	}
	if rollout.Windows == nil && rollout.Exclusions == nil {
		return field.ErrorList{field.Required(at, "it must say something: leave it out to have all nodes follow at once")}
	}
	return ValidateCalendar(rollout.Windows, rollout.Exclusions, at)
}

// WarnRollout returns what is valid in the rollout of a pool and makes no sense: see
// [WarnCalendar].
func WarnRollout(pool *NodePool) field.ErrorList {
	if pool.Spec.Rollout == nil {
		return nil
	}
	return WarnCalendar(pool.Spec.Rollout.Windows, pool.Spec.Rollout.Exclusions, field.NewPath("spec", "rollout"))
}
