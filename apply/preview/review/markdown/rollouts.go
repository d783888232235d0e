package markdown

import "github.com/nodepools/nodepools/apply/preview/review"

// rollouts lists when nodes follow, an item for each wave.
func rollouts(all []review.Rollout) section {
	s := section{title: "Rollouts", intro: "When nodes follow, if nothing else happens meanwhile.", one: "line", more: "lines"}
	for _, rollout := range all {
		row := "pool " + code(rollout.Pool) + ": " + sentence(rollout.Text())
		if rollout.Stays != "" {
			row += "; " + sentence(rollout.Stays)
		}
		if halt := rollout.HaltText(); halt != "" {
			row += "; " + sentence(halt)
		}
		s.rows = append(s.rows, row)
		for _, wave := range rollout.Waves {
			of := "pool " + code(rollout.Pool)
			if wave.Name != "" {
				of += ", wave " + code(wave.Name)
			}
			s.rows = append(s.rows, of+": "+sentence(wave.Text())+": "+names(wave.Names(), maxName))
		}
	}
	return s
}
