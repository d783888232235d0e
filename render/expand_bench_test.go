package render

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// manyPools are pools whose members are chosen in every way there is, of which
// one, by its role label, concerns the node of benchNode.
func manyPools(count int) []*v1.NodePool {
	pools := make([]*v1.NodePool, 0, count)
	for i := range count {
		name := fmt.Sprintf("pool-%d", i)
		spec := v1.NodePoolSpec{
			Labels: map[string]v1.LabelValue{"node-pool.lailin.xyz/a": "8", "node-pool.lailin.xyz/b": "2"},
			Taints: []v1.Taint{noSchedule("node-pool.lailin.xyz", name)},
		}
		switch i % 5 {
		case 1:
			// Every node is of the cluster; few are of the team.
			spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"cluster": "production", "team": name}}
		case 2:
			spec.NodeNames = []string{fmt.Sprintf("rack-%d-*", i)}
		case 3:
			spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "zone", Operator: metav1.LabelSelectorOpIn, Values: []string{name, "zone-" + name}},
			}}
		case 4:
			spec.Parent = fmt.Sprintf("pool-%d", i-4)
		}
		pools = append(pools, define(name, spec))
	}
	return pools
}

// benchNode is a node with as many labels as a cloud puts on one.
func benchNode() (string, map[string]string) {
	labels := map[string]string{"cluster": "production", "team": "none", "zone": "z", role("pool-0"): ""}
	for i := range 16 {
		labels[fmt.Sprintf("cloud.example/label-%d", i)] = "value"
	}
	return "node-1.example", labels
}

func BenchmarkExpand(b *testing.B) {
	for _, count := range []int{10, 100, 1000} {
		pools := manyPools(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Expand(pools)
			}
		})
	}
}

// BenchmarkExpansionNode must cost the same whatever the number of pools.
func BenchmarkExpansionNode(b *testing.B) {
	name, labels := benchNode()
	for _, count := range []int{10, 100, 1000} {
		expansion := Expand(manyPools(count))
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if desired := expansion.Node(name, labels); len(desired.Pools) != 1 {
					b.Fatalf("in %v", desired.Pools)
				}
			}
		})
	}
}
