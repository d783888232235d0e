package page

import "github.com/nodepools/nodepools/apply/preview/review"

// rollout is one with its waves, of which many are folded.
type rollout struct {
	review.Rollout
	Waves folded[review.RolloutWave] // replaces those of the review
}

func rollouts(all []review.Rollout) []rollout {
	var rollouts []rollout
	for _, one := range all {
		rollouts = append(rollouts, rollout{one, fold(one.Waves)})
	}
	return rollouts
}
