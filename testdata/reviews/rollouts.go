package reviews

import (
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// rollouts are one in waves that ends, and one that does not.
func rollouts() []review.Rollout {
	canary := &plan.Moment{Time: "2026-11-28T02:00:00+01:00", UTC: "2026-11-28T01:00:00Z", Text: "Sat 2026-11-28 02:00 CET (01:00 UTC)"}
	second := &plan.Moment{Time: "2026-11-28T03:00:00+01:00", UTC: "2026-11-28T02:00:00Z", Text: "Sat 2026-11-28 03:00 CET (02:00 UTC)"}
	last := &plan.Moment{Time: "2026-12-05T02:00:00+01:00", UTC: "2026-12-05T01:00:00Z", Text: "Sat 2026-12-05 02:00 CET (01:00 UTC)"}
	ends := &plan.Moment{Time: "2026-12-05T02:10:00+01:00", UTC: "2026-12-05T01:10:00Z", Text: "Sat 2026-12-05 02:10 CET (01:10 UTC)"}
	none := []string{}
	return []review.Rollout{
		{
			Pool: "gpu", Nodes: 4, Windows: 2, Ends: ends,
			Waves: []review.RolloutWave{
				{Name: "canary", Nodes: []string{"gpu-001"}, Staying: []string{}, Together: 1, Starts: canary, Last: canary, Evictions: ptr(2), BudgetsBlocking: none},
				{Name: "second", Nodes: numbered("gpu-%03d", 2, 3), Staying: []string{}, Together: 1, Starts: second, Last: second, Evictions: ptr(5), BudgetsBlocking: []string{"data/queue", "web/front", "web/site"}},
				{Name: "rest", Nodes: []string{"gpu-004"}, Staying: []string{}, Together: 1, Starts: last, Last: last, Approval: "second", Evictions: ptr(0), BudgetsBlocking: none},
			},
		},
		{
			Pool: "infra", Nodes: 1, Stays: `1 node does not follow: the rollout of pool "infra" is halted since 2026-11-25T02:00:07Z, as node infra-1 has condition GPUHealthy=False after it has followed`,
			Waves: []review.RolloutWave{{Nodes: []string{}, Staying: []string{"infra-2"}, Evictions: ptr(0), BudgetsBlocking: none}},
			Halt: &review.RolloutHalt{
				Since: &plan.Moment{Time: "2026-11-25T02:00:07Z", UTC: "2026-11-25T02:00:07Z", Text: "Wed 2026-11-25 02:00:07 UTC"},
				Node:  "infra-1", Nodes: 1, Lacks: "has condition GPUHealthy=False", Resume: "b41c02/2026-11-25T02:00:07Z",
			},
		},
		{
			Pool: "web", Nodes: 2, Stays: `2 nodes do not follow: the rollout of pool "web" is paused`,
			Waves: []review.RolloutWave{{Nodes: []string{}, Staying: []string{"web-1", "web-2"}, Evictions: ptr(0), BudgetsBlocking: none}},
		},
	}
}
