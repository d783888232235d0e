package render

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func selecting(requirements ...v1.LabelSelectorRequirement) v1.NodePoolSpec {
	return v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchExpressions: requirements}}
}

func byName(patterns ...string) v1.NodePoolSpec { return v1.NodePoolSpec{NodeNames: patterns} }

func TestMembers(t *testing.T) {
	in := v1.LabelSelectorRequirement{Key: "zone", Operator: metav1.LabelSelectorOpIn, Values: []string{"b", "a", "a"}}
	notIn := v1.LabelSelectorRequirement{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}}
	exists := v1.LabelSelectorRequirement{Key: "gpu", Operator: metav1.LabelSelectorOpExists}
	absent := v1.LabelSelectorRequirement{Key: "gpu", Operator: metav1.LabelSelectorOpDoesNotExist}
	type node struct {
		name   string
		labels map[string]string
		in     bool
	}
	cases := map[string]struct {
		reason string
		spec   v1.NodePoolSpec
		nodes  []node
	}{
		"role": {
			"the role label with an empty value, and no other",
			v1.NodePoolSpec{},
			[]node{
				{"n", map[string]string{role("p"): ""}, true},
				{"n", map[string]string{role("p"): "true"}, false},
				{"n", map[string]string{role("q"): ""}, false},
				{"p", nil, false},
			},
		},
		"match labels": {
			"all of them",
			v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"a": "1", "b": ""}}},
			[]node{
				{"n", map[string]string{"a": "1", "b": "", "c": "x"}, true},
				{"n", map[string]string{"a": "1"}, false},
				{"n", map[string]string{"b": ""}, false},
				{"n", map[string]string{"a": "2", "b": ""}, false},
			},
		},
		"a selector goes before the role": {
			"membership is chosen in one way",
			selecting(exists),
			[]node{{"n", map[string]string{role("p"): ""}, false}, {"n", map[string]string{"gpu": ""}, true}},
		},
		"in":     {"one of the values, said twice or not", selecting(in), []node{{"n", map[string]string{"zone": "a"}, true}, {"n", map[string]string{"zone": "b"}, true}, {"n", map[string]string{"zone": "c"}, false}, {"n", nil, false}}},
		"not in": {"also nodes that have no such label", selecting(notIn), []node{{"n", map[string]string{"zone": "a"}, false}, {"n", map[string]string{"zone": "b"}, true}, {"n", nil, true}}},
		"exists": {"any value, the empty one too", selecting(exists), []node{{"n", map[string]string{"gpu": ""}, true}, {"n", map[string]string{"gpu": "v"}, true}, {"n", nil, false}}},
		"absent": {"nodes without the label", selecting(absent), []node{{"n", map[string]string{"gpu": ""}, false}, {"n", nil, true}}},
		"labels and expressions": {
			"both must hold",
			v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"a": "1"}, MatchExpressions: []v1.LabelSelectorRequirement{in, absent}}},
			[]node{
				{"n", map[string]string{"a": "1", "zone": "a"}, true},
				{"n", map[string]string{"a": "1", "zone": "a", "gpu": ""}, false},
				{"n", map[string]string{"zone": "a"}, false},
			},
		},
		"names": {
			"whole names only",
			byName("n-1", "n-2"),
			[]node{{"n-1", nil, true}, {"n-2", nil, true}, {"n-10", nil, false}, {"n", nil, false}, {"", nil, false}},
		},
		"patterns": {
			"each of the kinds, names among them, and several that hold at once",
			byName("gpu-*", "gpu-a*", "?-end", "x[0-9]", "plain", `esc\*ape`, "*.corp"),
			[]node{
				{"gpu-", nil, true}, {"gpu-a1", nil, true}, {"gp", nil, false},
				{"a-end", nil, true}, {"-end", nil, false},
				{"x7", nil, true}, {"xx", nil, false},
				{"plain", nil, true}, {"plainer", nil, false},
				{"esc*ape", nil, true}, {"escape", nil, false},
				{"n.corp", nil, true}, {"ncorp", nil, false},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expansion := Expand([]*v1.NodePool{define("p", c.spec)})
			for _, node := range c.nodes {
				want := []string{}
				if node.in {
					want = []string{"p"}
				}
				if diff := cmp.Diff(want, expansion.Node(node.name, node.labels).Pools); diff != "" {
					t.Errorf("node %q with %v: %s (-want +got):\n%s", node.name, node.labels, c.reason, diff)
				}
				if diff := cmp.Diff(want, expansion.Members(node.name, node.labels)); diff != "" {
					t.Errorf("node %q with %v, its pools alone (-want +got):\n%s", node.name, node.labels, diff)
				}
			}
		})
	}
}

func TestUnreadableMembers(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1.NodePoolSpec
	}{
		"empty selector":   {"it would match every node", v1.NodePoolSpec{Selector: &v1.LabelSelector{}}},
		"unknown operator": {"nobody knows what it means", selecting(v1.LabelSelectorRequirement{Key: "k", Operator: "Near"})},
		"in nothing":       {"no node could be meant", selecting(v1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpIn})},
		"bad pattern":      {"an open bracket", byName("ok", "n[")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expansion := Expand([]*v1.NodePool{define("p", c.spec)})
			if expansion.Problem("p") == nil || len(expansion.Node("n", nil).Pools) != 0 {
				t.Errorf("the pool is taken as sound: %s", c.reason)
			}
		})
	}
}

// The index only saves time: it finds the same members as matching every pool.
func TestIndexFindsWhatAskingEveryPoolFinds(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var pools []*v1.NodePool
		for i := range r.IntN(12) {
			pools = append(pools, define(fmt.Sprintf("p%d", i), randomMembership(r)))
			if i > 0 && r.IntN(3) == 0 {
				pools[i].Spec.Parent = fmt.Sprintf("p%d", r.IntN(i))
			}
		}
		expansion := Expand(pools)
		for range 5 {
			name, labels := randomName(r), randomLabels(r)
			want := []string{}
			for _, pool := range slices.Sorted(maps.Keys(expansion.pools)) {
				if p := expansion.pools[pool]; p.problem == nil && p.has(name, labels) {
					want = append(want, pool)
				}
			}
			if diff := cmp.Diff(want, expansion.Node(name, labels).Pools); diff != "" {
				t.Fatalf("seed %d, node %q with %v (-matched +found):\n%s", seed, name, labels, diff)
			}
			if diff := cmp.Diff(want, expansion.Members(name, labels)); diff != "" {
				t.Fatalf("seed %d, node %q with %v (-matched +found for its pools alone):\n%s", seed, name, labels, diff)
			}
		}
	}
}

func randomMembership(r *rand.Rand) v1.NodePoolSpec {
	switch r.IntN(4) {
	case 0:
		return v1.NodePoolSpec{}
	case 1:
		patterns := []string{"a", "b", "ab", "a*", "ab*", "*b", "?", "[ab]*", `\a`, "aa", "", "a*b", "*ab", `*\b`, "*[ab]b", "a?"}
		r.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
		return byName(patterns[:1+r.IntN(4)]...)
	default:
		selector := &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{}}
		for key, value := range randomLabels(r) {
			selector.MatchLabels[key] = v1.LabelValue(value)
		}
		for range r.IntN(3) {
			requirement := v1.LabelSelectorRequirement{
				Key:      fmt.Sprintf("k%d", r.IntN(3)),
				Operator: []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}[r.IntN(4)],
			}
			if requirement.Operator == "In" || requirement.Operator == "NotIn" {
				requirement.Values = []string{fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(3))}
			}
			selector.MatchExpressions = append(selector.MatchExpressions, requirement)
		}
		return v1.NodePoolSpec{Selector: selector}
	}
}

func randomName(r *rand.Rand) string {
	return []string{"a", "b", "ab", "aa", "ba", "abb", "c"}[r.IntN(7)]
}

func randomLabels(r *rand.Rand) map[string]string {
	labels := map[string]string{}
	for i := range 3 {
		if r.IntN(2) == 0 {
			labels[fmt.Sprintf("k%d", i)] = fmt.Sprint(r.IntN(3))
		}
	}
	if r.IntN(3) == 0 {
		labels[role(fmt.Sprintf("p%d", r.IntN(12)))] = ""
	}
	return labels
}
