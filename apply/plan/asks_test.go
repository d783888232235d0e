package plan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Whatever a weaker pool says, be it that its own changes never come, what a stronger one says
// comes to the nodes of both.
func TestWeakerRolloutHoldsUpNoStrongerOne(t *testing.T) {
	for name, c := range map[string]struct {
		weak func(*v1.NodePool)
		halt bool
	}{
		"a budget of 0":             {func(p *v1.NodePool) { p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(0)) }, false},
		"a condition that none has": {func(p *v1.NodePool) { p.Spec.Rollout.NodeConditions = []v1.NodeCondition{{Type: "Never"}} }, false},
		"a halt":                    {func(*v1.NodePool) {}, true},
	} {
		weak := func(value string) *v1.NodePool {
			return waitingPool("weak", all(prior(1), labelPairs("weak", value), limited("1", time.Minute), c.weak))
		}
		strong := func(value string) *v1.NodePool {
			return waitingPool("strong", all(prior(9), labelPairs("strong", value), limited("1", time.Minute)))
		}
		node := followed(t, longAgo, weak("1"), strong("1"))
		node.Conditions = noConditions
		pools := []*v1.NodePool{weak("2"), strong("2")}
		rollouts, turn, halts, given := RolloutsOf(pools), Turn{}, map[string]*Halt{}, 0
		if c.halt {
			halts["weak"] = &Halt{Time: closedAt.Add(-time.Hour), Changes: []string{rollouts.of("weak").content}, Nodes: 1, Node: "other"}
		}
		for i := range 5 {
			now := closedAt.Add(time.Duration(i) * time.Hour)
			o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: rollouts, Turn: turn, Now: now})
			node = carry(node, o)
			turn = rollouts.Turns([]Follower{FollowerOf(node, o, true)}, halts, now, true).Of("n")
			if len(turn.In) > 0 {
				given++
			}
		}
		// A node that has followed a change may go on without the condition: it may be what mends it.
		turns := 1 + len(rollouts.of("weak").conditions)
		if node.Labels["example.com/strong"] != "2" || given != turns {
			t.Errorf("%s of the weaker pool: after %d turns the node has %v", name, given, node.Labels)
		}
	}
}
