package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A crowd of pools does not match the node of benchNode, in one of the ways in
// which that could be expensive to find out.
type crowdKind struct {
	name string
	// pool makes the i-th pool of the crowd.
	pool func(i int) v1.NodePoolSpec
	// matchesEach is set where every pool is matched against every node: no trait
	// of the node rules the pool out.
	matchesEach bool
}

var crowdKinds = []crowdKind{
	{name: "mixed", pool: mixed},
	{name: "same-beginning", pool: func(i int) v1.NodePoolSpec { return byName(fmt.Sprintf("node-*.rack-%d.example", i)) }},
	{name: "same-ending", pool: func(i int) v1.NodePoolSpec { return byName(fmt.Sprintf("rack-%d-*.example", i)) }},
	{name: "beginnings-of-all-lengths", pool: func(i int) v1.NodePoolSpec {
		return byName(strings.Repeat("n", 1+i%200) + fmt.Sprintf("%d*", i))
	}},
	{name: "beside-a-common-label", pool: func(i int) v1.NodePoolSpec {
		return v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{
			"topology.kubernetes.io/zone": "z", "kubernetes.io/os": "linux", "rack": v1.LabelValue(fmt.Sprintf("rack-%d", i)),
		}}}
	}},
	{name: "same-parent", pool: func(i int) v1.NodePoolSpec {
		return v1.NodePoolSpec{Parent: "mine", Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"rack": v1.LabelValue(fmt.Sprintf("rack-%d", i))}}}
	}},
	{name: "not-in-only", matchesEach: true, pool: func(i int) v1.NodePoolSpec {
		return selecting(
			v1.LabelSelectorRequirement{Key: "rack", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"mine", fmt.Sprintf("rack-%d", i)}},
		)
	}},
}

// mixed are pools whose members are chosen in every way there is.
func mixed(i int) v1.NodePoolSpec {
	text := fmt.Sprintf("rack-%d", i)
	switch i % 8 {
	case 0: // by the role label
		return v1.NodePoolSpec{}
	case 1: // every node is of the cluster; few are of the team
		return v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"cluster": "production", "team": v1.LabelValue(text)}}}
	case 2:
		return byName(text+"-*", text+"-spare-[0-9].example")
	case 3:
		return selecting(v1.LabelSelectorRequirement{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: []string{text, text + "-b"}})
	case 4:
		return v1.NodePoolSpec{Parent: fmt.Sprintf("pool-%d", i-4)}
	case 5:
		return selecting(v1.LabelSelectorRequirement{Key: "accelerator.example/" + text, Operator: metav1.LabelSelectorOpExists})
	case 6:
		return byName(text+"-1.example", text+"-2.example", text+"-3.example")
	default: // in the zone of the node, and not in its rack
		return v1.NodePoolSpec{Selector: &v1.LabelSelector{
			MatchLabels:      map[string]v1.LabelValue{"topology.kubernetes.io/zone": "z", "rack": v1.LabelValue(text)},
			MatchExpressions: []v1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"edge"}}},
		}}
	}
}

func crowdOfPools(count int, kind func(i int) v1.NodePoolSpec) []*v1.NodePool {
	pools := make([]*v1.NodePool, 0, count)
	for i := range count {
		name := fmt.Sprintf("pool-%d", i)
		spec := kind(i)
		spec.Labels = map[string]v1.LabelValue{"node-pool.lailin.xyz/a": "8", "node-pool.lailin.xyz/b": "2"}
		spec.Taints = []v1.Taint{noSchedule("node-pool.lailin.xyz", name)}
		pools = append(pools, define(name, spec))
	}
	return pools
}

// benchNode returns a node with as many labels as a cloud provider sets.
func benchNode() (string, map[string]string) {
	labels := map[string]string{
		"cluster": "production", "team": "none", "topology.kubernetes.io/zone": "z", "kubernetes.io/os": "linux",
		"rack": "mine", role("mine"): "",
	}
	for i := range 14 {
		labels[fmt.Sprintf("cloud.example/label-%d", i)] = "value"
	}
	return "node-1.example", labels
}

// matched counts the pools that are matched against a node.
func matched(e *Expansion, name string, have labels.Set) int {
	count := 0
	for _, p := range e.pools {
		ask := p.member
		p.member = func(name string, have labels.Set) bool {
			count++
			return ask(name, have)
		}
		defer func() { p.member = ask }()
	}
	e.members.of(name, have, nil)
	return count
}

// The cost of a node depends on the pools that it may be in, and not on the
// number of pools.
func TestPoolsThatDoNotConcernANodeAreNotAsked(t *testing.T) {
	name, labels := benchNode()
	for _, kind := range crowdKinds {
		t.Run(kind.name, func(t *testing.T) {
			var matches []int
			for _, count := range counts {
				expansion := Expand(withTwoOfTheNode(crowdOfPools(count-2, kind.pool)))
				matches = append(matches, matched(expansion, name, labels))
				if pools := expansion.Members(name, labels); !slices.Equal(pools, []string{"mine", "mine-by-rack"}) {
					t.Fatalf("of %d pools the node is in %v", count, pools)
				}
			}
			// Where there are few pools, one may be filed under a trait of the node.
			if most := slices.Max(matches); most > 4 && !kind.matchesEach {
				t.Errorf("of %v pools, %v are matched", counts, matches)
			} else if kind.matchesEach && !slices.Equal(matches, counts) {
				t.Errorf("of %v pools, %v are matched; can most be ruled out by now?", counts, matches)
			}
		})
	}
}

// The memory that a node costs does not grow with the number of pools either.
func TestNodeAllocatesTheSameWhateverTheNumberOfPools(t *testing.T) {
	name, labels := benchNode()
	for _, kind := range crowdKinds {
		var allocations []float64
		for _, count := range counts {
			expansion := Expand(withTwoOfTheNode(crowdOfPools(count-2, kind.pool)))
			allocations = append(allocations, testing.AllocsPerRun(20, func() { expansion.Node(name, labels) }))
		}
		if len(slices.Compact(slices.Clone(allocations))) != 1 {
			t.Errorf("%s: with %v pools, %v allocations", kind.name, counts, allocations)
		}
	}
}
