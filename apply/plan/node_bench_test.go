package plan

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// BenchmarkNodePlan plans a node that is in one pool of many. It must cost the
// same whatever their number. A quiet plan is what every node event of a cluster
// at rest costs.
func BenchmarkNodePlan(b *testing.B) {
	for _, count := range []int{10, 100, 1000} {
		pools := expand(benchPools(count)...)
		fresh := benchNode()
		carrying, _ := newServer().write(b, fresh, pools)
		b.Run(fmt.Sprintf("quiet/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p, err := Node(carrying, pools); err != nil || !p.Quiet() || len(p.Pools) != 1 {
					b.Fatal(p, err)
				}
			}
		})
		b.Run(fmt.Sprintf("write/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := Node(fresh, pools)
				if err != nil || p.Quiet() {
					b.Fatal(p, err)
				}
				if _, err := p.Patch(fresh); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchPools are pools of which the first concerns the node.
func benchPools(count int) []*v1.NodePool {
	pools := make([]*v1.NodePool, 0, count)
	for i := range count {
		name := fmt.Sprintf("pool-%d", i)
		spec := v1.NodePoolSpec{
			Labels: map[string]v1.LabelValue{"node-pool.lailin.xyz/a": "8", "node-pool.lailin.xyz/b": "2"},
			Taints: []v1.Taint{{Key: "node-pool.lailin.xyz", Value: name, Effect: corev1.TaintEffectNoSchedule}},
		}
		switch i % 4 {
		case 1: // every node is of the cluster; few are of the team
			spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"cluster": "production", "team": name}}
		case 2:
			spec.NodeNames = []string{fmt.Sprintf("rack-%d-*", i)}
		case 3:
			spec.Parent = "pool-0"
		}
		pools = append(pools, define(name, spec))
	}
	return pools
}

func benchNode() *corev1.Node {
	node := newNode("n")
	node.Labels = map[string]string{"cluster": "production", "team": "none", v1.RoleLabel("pool-0"): ""}
	for i := range 16 {
		node.Labels[fmt.Sprintf("cloud.example/label-%d", i)] = "value"
	}
	return node
}
