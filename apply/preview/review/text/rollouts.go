package text

import (
	"fmt"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// maxWaves is how many waves of one rollout are written.
const maxWaves = 20

// rollouts writes when nodes follow, a line for each wave and one for its nodes.
func (t *writer) rollouts(rollouts []review.Rollout) {
	for _, rollout := range rollouts {
		t.heading(fmt.Sprintf("Rollout of pool %s: %s", review.Word(rollout.Pool), review.Visible(rollout.Text())))
		if rollout.Stays != "" {
			t.sentence("  ", rollout.Stays)
		}
		if halt := rollout.HaltText(); halt != "" {
			t.sentence("  ", halt)
		}
		for _, wave := range rollout.Waves[:min(len(rollout.Waves), maxWaves)] {
			name := ""
			if wave.Name != "" {
				name = review.Word(wave.Name) + ": "
			}
			t.sentence("  ", name+wave.Text())
			t.list("    ", words(review.Compact(wave.Names())))
		}
		if more := len(rollout.Waves) - maxWaves; more > 0 {
			t.sentence("  ", fmt.Sprintf("and %s; -o json has all", review.Count(more, "more wave")))
		}
	}
}
