package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestPriority(t *testing.T) {
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
	silent := func(name string, edit ...func(*v1.NodePoolSpec)) *v1.NodePool {
		pool := says(name, "", 0, edit...)
		pool.Spec.Labels = nil
		return pool
	}
	strong := func(spec *v1.NodePoolSpec) { spec.Priority = 9 }
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
		"agrees with an inner pool, outside": {
			"without it, the outer pool would have the key: what becomes of it follows the inner one",
			[]*v1.NodePool{says("outer", "1", 9), says("inner", "2", 0, within("outer")), says("other", "2", 0, policy(v1.Adopt))},
			Want{Value: "2", Pool: "inner", Policy: v1.ReportConflicts, Agreeing: []string{"other"}, Contenders: []string{"other", "outer"}},
		},
		"agrees with an inner pool, and is stronger than the outer one": {
			"it would have the key without it",
			[]*v1.NodePool{says("outer", "1", 0), says("inner", "2", 9, within("outer")), says("other", "2", 9, policy(v1.Adopt))},
			Want{Value: "2", Pool: "other", Policy: v1.Adopt, Agreeing: []string{"inner"}, Contenders: []string{"other", "outer"}},
		},
		"negative": {
			"priorities below the default are lower",
			[]*v1.NodePool{says("a", "1", -1), says("b", "2", 0), says("c", "3", -2147483648)},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts},
		},
		"equal and disagree": {
			"the oldest wins, and the younger that disagree are named; a weaker one is not heard",
			[]*v1.NodePool{since(9, says("c", "3", 5)), since(7, says("a", "1", 5)), since(8, says("b", "1", 5)), since(1, says("d", "4", 4))},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts, Agreeing: []string{"b"}, Younger: []Claim{{"c", "3"}}, Oldest: "a"},
		},
		"the oldest is the last by name": {
			"age goes before the name",
			[]*v1.NodePool{since(2, says("a", "1", 0)), since(1, says("b", "2", 0)), since(3, says("c", "3", 0))},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts, Younger: []Claim{{"a", "1"}, {"c", "3"}}, Oldest: "b"},
		},
		"created in the same second": {
			"then the name decides",
			[]*v1.NodePool{since(1, says("b", "2", 0)), since(1, says("a", "1", 0))},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts, Younger: []Claim{{"b", "2"}}, Oldest: "a"},
		},
		"not in the cluster yet": {
			"it is younger than all that is there",
			[]*v1.NodePool{says("a", "1", 0), since(1<<40, says("b", "2", 0)), says("c", "3", 0)},
			Want{Value: "2", Pool: "b", Policy: v1.ReportConflicts, Younger: []Claim{{"a", "1"}, {"c", "3"}}, Oldest: "b"},
		},
		"a younger one that goes further": {
			"it has its way with the value of the oldest, and with no other",
			[]*v1.NodePool{since(1, says("c", "1", 0)), since(2, says("b", "2", 0, policy(v1.Adopt))), since(3, says("a", "1", 0, policy(v1.TakeOver)))},
			Want{Value: "1", Pool: "a", Policy: v1.TakeOver, Agreeing: []string{"c"}, Younger: []Claim{{"b", "2"}}, Oldest: "c"},
		},
		"agreeing, of different ages": {
			"pools that agree may come in any order: the first by name is named",
			[]*v1.NodePool{since(2, says("a", "1", 0)), since(1, says("b", "1", 0))},
			Want{Value: "1", Pool: "a", Policy: v1.ReportConflicts, Agreeing: []string{"b"}},
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
		"the policy that goes furthest": {
			"a pool that is content to report must not keep an equal one from taking over",
			[]*v1.NodePool{says("a", "1", 0), says("b", "1", 0, policy(v1.TakeOver)), says("c", "1", 0, policy(v1.Adopt)), says("d", "1", 0, policy(v1.Adopt))},
			Want{Value: "1", Pool: "c", Policy: v1.Adopt, Agreeing: []string{"a", "b", "d"}},
		},
		"taking over goes further than reporting": {
			"the same between the other two",
			[]*v1.NodePool{says("a", "1", 0), says("b", "1", 0, policy(v1.TakeOver))},
			Want{Value: "1", Pool: "b", Policy: v1.TakeOver, Agreeing: []string{"a"}},
		},
		"the policy of a weaker pool": {
			"only the strongest decide how far to go",
			[]*v1.NodePool{says("a", "1", 0, policy(v1.Adopt)), says("b", "1", 1)},
			Want{Value: "1", Pool: "b", Policy: v1.ReportConflicts, Agreeing: []string{"a"}},
		},
		"child before parent": {
			"whatever their priorities",
			[]*v1.NodePool{says("p", "parent", 100), says("c", "child", 0, within("p"))},
			Want{Value: "child", Pool: "c", Policy: v1.ReportConflicts},
		},
		"grandchild before all": {
			"the innermost that says something",
			[]*v1.NodePool{says("p", "1", 9), silent("c", within("p")), says("g", "3", 0, within("c"))},
			Want{Value: "3", Pool: "g", Policy: v1.ReportConflicts},
		},
		"silent child": {
			"a child that says nothing of the key leaves the parent's",
			[]*v1.NodePool{says("p", "1", 0), silent("c", within("p"))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts},
		},
		"children disagree": {
			"two children override the parent, and the older one the other",
			[]*v1.NodePool{since(1, says("p", "1", 9)), since(3, says("c", "2", 0, within("p"))), since(2, says("d", "3", 0, within("p")))},
			Want{Value: "3", Pool: "d", Policy: v1.ReportConflicts, Younger: []Claim{{"c", "2"}}, Oldest: "d"},
		},
		"third pool between": {
			"it would not have won against the parent, and gets nothing from the child's overriding that",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), says("x", "3", 5)},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Unheard: []string{"c"}, Third: "x"},
		},
		"third pool between, paused": {
			"it has nothing, and still the child does not get what it has not while the third one is at work",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), pausedPool(says("x", "3", 5))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Unheard: []string{"c"}, Third: "x"},
		},
		"third pool above both, paused": {
			"a paused pool keeps nobody off a node",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), pausedPool(says("x", "3", 10))},
			Want{Value: "2", Pool: "c", Policy: v1.ReportConflicts},
		},
		"a paused pool within the same parent": {
			"it is no third one, as its parent is around both",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), pausedPool(says("x", "3", 5, within("p")))},
			Want{Value: "2", Pool: "c", Policy: v1.ReportConflicts},
		},
		"third pool above both": {
			"it wins, as it would against the parent alone",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), says("x", "3", 10)},
			Want{Value: "3", Pool: "x", Policy: v1.ReportConflicts},
		},
		"third pool below both": {
			"the child overrides its parent as ever",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 4, within("p")), says("x", "3", 3)},
			Want{Value: "2", Pool: "c", Policy: v1.ReportConflicts},
		},
		"third pool as strong as the parent, and younger": {
			"it loses to the parent, and is named",
			[]*v1.NodePool{since(1, says("p", "1", 9)), since(3, says("c", "2", 0, within("p"))), since(2, says("x", "3", 9))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Younger: []Claim{{"x", "3"}}, Oldest: "p", Unheard: []string{"c"}, Third: "x"},
		},
		"third pool between, of the child's value": {
			"what the child would have is not the third one's to have, either",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), says("x", "2", 5)},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Unheard: []string{"c"}, Third: "x"},
		},
		"a parent that says nothing of the key": {
			"the child overrides nothing",
			[]*v1.NodePool{silent("p", strong), says("c", "2", 0, within("p")), says("x", "3", 5)},
			Want{Value: "3", Pool: "x", Policy: v1.ReportConflicts},
		},
		"children of different priority": {
			"the stronger one overrides the parent, as it is stronger than the third one",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), says("d", "3", 6, within("p")), says("x", "4", 5)},
			Want{Value: "3", Pool: "d", Policy: v1.ReportConflicts},
		},
		"the innermost that is strong enough": {
			"of several in each other, what is weaker than the third one is not heard",
			[]*v1.NodePool{says("o", "0", 9), says("p", "1", 7, within("o")), says("c", "2", 0, within("p")), says("x", "3", 5)},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Unheard: []string{"c"}, Third: "x"},
		},
		"the strongest is the outermost": {
			"a third one that is stronger than what lies between gets nothing either",
			[]*v1.NodePool{says("o", "0", 9), says("p", "1", 3, within("o")), says("c", "2", 0, within("p")), says("x", "3", 5)},
			Want{Value: "0", Pool: "o", Policy: v1.ReportConflicts, Unheard: []string{"c", "p"}, Third: "x"},
		},
		"third pool within another one": {
			"it overrides its own parent only",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), says("q", "3", 8), says("x", "4", 5, within("q"))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts, Unheard: []string{"c"}, Third: "q"},
		},
		"third pool within the same parent": {
			"both override it, and the stronger one wins",
			[]*v1.NodePool{says("p", "1", 9), says("c", "2", 0, within("p")), says("x", "3", 5, within("p"))},
			Want{Value: "3", Pool: "x", Policy: v1.ReportConflicts},
		},
		"parent agrees": {
			"the parent's wish is out of the question even where it is the same",
			[]*v1.NodePool{says("p", "1", 9), says("c", "1", 0, within("p"))},
			Want{Value: "1", Pool: "c", Policy: v1.ReportConflicts},
		},
		"all paused": {
			"nobody says anything",
			[]*v1.NodePool{pausedPool(says("p", "1", 0)), pausedPool(says("c", "2", 0, within("p")))},
			Want{},
		},
		"paused child": {
			"a paused pool says nothing, so the parent is heard",
			[]*v1.NodePool{says("p", "1", 0), pausedPool(says("c", "2", 0, within("p")))},
			Want{Value: "1", Pool: "p", Policy: v1.ReportConflicts},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range len(c.pools) {
				// Whatever the order in which the pools come.
				c.pools = append(c.pools[1:], c.pools[0])
				got := Expand(c.pools).Node("n", nil).Labels["k"]
				if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Want{}, "Rank", "Contenders")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				slices.Reverse(c.pools)
			}
		})
	}
}
