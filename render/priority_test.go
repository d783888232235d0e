package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestRank(t *testing.T) {
	// says makes a pool that wants k to have a value on the node.
	says := func(name, value string, priority int32, edit ...func(*v1.NodePoolSpec)) *v1.NodePool {
		spec := v1.NodePoolSpec{Priority: priority, Labels: map[string]v1.LabelValue{"k": v1.LabelValue(value)}}
		for _, each := range edit {
			each(&spec)
		}
		return onNode(name, spec)
	}
	within := func(parent string) func(*v1.NodePoolSpec) {
		return func(spec *v1.NodePoolSpec) { spec.Parent = parent }
	}
	policy := func(policy v1.ConflictPolicy) func(*v1.NodePoolSpec) {
		return func(spec *v1.NodePoolSpec) { spec.ConflictPolicy = policy }
	}
	since := func(second int64, pool *v1.NodePool) *v1.NodePool {
		pool.CreationTimestamp = metav1.Unix(second, 0)
		return pool
	}
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		want   Want
	}{
		"alone": {
			"nobody disagrees",
			[]*v1.NodePool{says("a", "1", 0)},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts},
		},
		"higher": {
			"the higher priority wins, and the other is not heard",
			[]*v1.NodePool{says("a", "1", 0), says("b", "2", 1)},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts},
		},
		"negative": {
			"priorities below the default are lower",
			[]*v1.NodePool{says("a", "1", -1), says("b", "2", 0), says("c", "3", -2147483648)},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts},
		},
		"equal and disagree": {
			"the oldest wins, and the younger that disagree are named; a weaker one is not heard",
			[]*v1.NodePool{since(9, says("c", "3", 5)), since(7, says("a", "1", 5)), since(8, says("b", "1", 5)), since(1, says("d", "4", 4))},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts, Agreeing: []string{"b"}, Younger: []Claim{{"c", "3"}}},
		},
		"the oldest is the last by name": {
			"age goes before the name",
			[]*v1.NodePool{since(2, says("a", "1", 0)), since(1, says("b", "2", 0)), since(3, says("c", "3", 0))},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts, Younger: []Claim{{"a", "1"}, {"c", "3"}}},
		},
		"created in the same second": {
			"then the name decides",
			[]*v1.NodePool{since(1, says("b", "2", 0)), since(1, says("a", "1", 0))},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts, Younger: []Claim{{"b", "2"}}},
		},
		"not in the cluster yet": {
			"it is younger than all that is there",
			[]*v1.NodePool{says("a", "1", 0), since(1<<40, says("b", "2", 0)), says("c", "3", 0)},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts, Younger: []Claim{{"a", "1"}, {"c", "3"}}},
		},
		"a younger one that goes further": {
			"the policy is that of the first, too",
			[]*v1.NodePool{since(1, says("c", "1", 0)), since(2, says("b", "2", 0, policy(v1.Adopt))), since(3, says("a", "1", 0, policy(v1.TakeOver)))},
			Want{Value: "1", Pool: "c", Policy: v1.ReportConflicts, Agreeing: []string{"a"}, Younger: []Claim{{"b", "2"}}},
		},
		"agreeing, of different ages": {
			"a newcomer takes over no key",
			[]*v1.NodePool{since(2, says("a", "1", 0)), since(1, says("b", "1", 0, policy(v1.TakeOver)))},
			Want{Value: "1", Pool: "b", Policy: v1.TakeOver, Agreeing: []string{"a"}},
		},
		"equal and agree": {
			"one is named as the origin, the others as agreeing",
			[]*v1.NodePool{says("b", "1", 0), says("a", "1", 0), says("c", "1", 0)},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts, Agreeing: []string{"b", "c"}},
		},
		"weaker and agrees": {
			"a weaker pool that wants the winner's value would miss it as well",
			[]*v1.NodePool{says("a", "1", 0), says("b", "1", 1), says("c", "2", 0)},
			Want{Value: "1", Pool: "b", Policy: v1.ReportConflicts, Agreeing: []string{"a"}},
		},
		"the policy of a weaker pool": {
			"only the strongest decide how far to go",
			[]*v1.NodePool{says("a", "1", 0, policy(v1.Adopt)), says("b", "1", 1)},
			Want{Value: "1", Pool: "b", Policy: v1.ReportConflicts, Agreeing: []string{"a"}},
		},
		"an inner pool of a higher priority": {
			"it has the key, and the parent reports nothing",
			[]*v1.NodePool{says("p", "1", 0), says("c", "2", 1, within("p"))},
			Want{Value: "2", Pool: "c", Policy: v1.ReportConflicts},
		},
		"an inner pool of a lower priority": {
			"nesting changes no rank",
			[]*v1.NodePool{says("p", "1", 1), says("c", "2", 0, within("p"))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts},
		},
		"an inner pool of the same priority": {
			"the older one has it, and the other one reports the conflict",
			[]*v1.NodePool{since(1, says("p", "1", 0)), since(2, says("c", "2", 0, within("p")))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Younger: []Claim{{"c", "2"}}},
		},
		"an inner pool that is older": {
			"the same",
			[]*v1.NodePool{since(2, says("p", "1", 0)), since(1, says("c", "2", 0, within("p")))},
			Want{Value: "2", Pool: "c", Policy: v1.ReportConflicts, Younger: []Claim{{"p", "1"}}},
		},
		"an inner pool that agrees": {
			"it agrees as any other",
			[]*v1.NodePool{says("p", "1", 9), says("c", "1", 0, within("p"))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Agreeing: []string{"c"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range len(c.pools) {
				// Whatever the order in which the pools come.
				c.pools = append(c.pools[1:], c.pools[0])
				got := Expand(c.pools).Node("n", nil).Labels["k"]
				if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Want{}, "Rank")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				slices.Reverse(c.pools)
			}
		})
	}
}
