package plan

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// benchCounts are the numbers of pools that benchmarks are run with.
var benchCounts = []int{10, 100, 1000}

// benchCase is a node and what is about to happen to it.
type benchCase struct {
	name  string
	node  *NodeState
	pools *render.Expansion
	quiet bool
}

// benchCases are a node event in each of the lives of a node, among so many
// pools of which at most two concern it. At rest is what almost all events of a
// cluster are, and all nodes when a pool changes.
func benchCases(t testing.TB, count int) []benchCase {
	t.Helper()
	s, others := newServer(), otherPools(count-2)
	with := func(mine ...*v1.NodePool) *render.Expansion { return expand(append(mine, others...)...) }
	none, one, two := with(), with(poolByRole("8")), with(poolByRole("8"), poolByRack())
	fresh := benchNode(t, s)
	inOne, _ := s.write(t, fresh, one)
	inTwo, _ := s.write(t, fresh, two)
	return []benchCase{
		{"at-rest-in-0", fresh, none, true},
		{"at-rest-in-1", inOne, one, true},
		{"at-rest-in-2", inTwo, two, true},
		{"join", fresh, two, false},
		{"one-label-changes", inTwo, with(poolByRole("9"), poolByRack()), false},
		{"release", inTwo, none, false},
	}
}

// BenchmarkPlanNode plans a node, and writes the patch where there is something
// to write. It must cost the same whatever the number of pools.
func BenchmarkPlanNode(b *testing.B) {
	for _, count := range benchCounts {
		for _, c := range benchCases(b, count) {
			b.Run(fmt.Sprintf("%s/%d", c.name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p, err := Node(c.node, c.pools)
					if err != nil || p.NoOp() != c.quiet {
						b.Fatal(p, err)
					}
					if p.NoOp() {
						continue
					}
					if _, err := p.Patch(c.node); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPoolsToRecord goes the whole way of a change of one pool in a cluster
// of many nodes, short of the API server: the pools are worked out, every node is
// planned, and those in the pool get a patch with their record.
func BenchmarkPoolsToRecord(b *testing.B) {
	const nodes, members = 500, 50
	for _, count := range benchCounts {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			s, others := newServer(), otherPools(count-2)
			before, after := append(others, poolByRack(), poolByRole("8")), append(others[:len(others):len(others)], poolByRack(), poolByRole("9"))
			fresh := benchNode(b, s)
			member, _ := s.write(b, fresh, expand(before...))
			delete(fresh.Labels, v1.RoleLabel("mine"))
			other, _ := s.write(b, fresh, expand(before...))
			cluster := make([]*NodeState, 0, nodes)
			for i := range nodes {
				node := other
				if i < members {
					node = member
				}
				node = node.DeepCopy()
				node.Name, node.UID = fmt.Sprintf("node-%d", i), types.UID(fmt.Sprint(i))
				cluster = append(cluster, node)
			}
			b.ReportAllocs()
			for b.Loop() {
				pools, written := expand(after...), 0
				for _, node := range cluster {
					p, err := Node(node, pools)
					if err != nil {
						b.Fatal(err)
					}
					if p.NoOp() {
						continue
					}
					written++
					if _, err := p.Patch(node); err != nil {
						b.Fatal(err)
					}
				}
				if written != members {
					b.Fatalf("%d nodes written, want %d", written, members)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*nodes), "ns/node")
		})
	}
}

// What an idle node costs in memory does not grow with the number of pools
// that do not concern it.
func TestUnchangedPlanAllocatesTheSameWhateverTheNumberOfPools(t *testing.T) {
	allocations := map[string][]float64{}
	for _, count := range benchCounts {
		for _, c := range benchCases(t, count) {
			if !c.quiet {
				continue
			}
			if p, err := Node(c.node, c.pools); err != nil || !p.NoOp() {
				t.Fatalf("%s: %v, %v", c.name, p, err)
			}
			allocations[c.name] = append(allocations[c.name], testing.AllocsPerRun(50, func() {
				if _, err := Node(c.node, c.pools); err != nil {
					t.Error(err)
				}
			}))
		}
	}
	for name, got := range allocations {
		if got[0] != got[1] || got[0] != got[2] {
			t.Errorf("%s: with %v pools, %v allocations", name, benchCounts, got)
		}
	}
}

// poolByRole has the node of benchNode by its role label, and puts a label of
// this value on it.
func poolByRole(value string) *v1.NodePool {
	return define("mine", v1.NodePoolSpec{
		Labels: map[string]v1.LabelValue{"node-pool.lailin.xyz/a": v1.LabelValue(value), "node-pool.lailin.xyz/b": "2"},
		Taints: []v1.Taint{{Key: "node-pool.lailin.xyz", Value: "mine", Effect: corev1.TaintEffectNoSchedule}},
	})
}

// poolByRack has the node of benchNode by a selector.
func poolByRack() *v1.NodePool {
	return define("rack", v1.NodePoolSpec{
		Selector:    &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"topology.kubernetes.io/zone": "z", "rack": "mine"}},
		Labels:      map[string]v1.LabelValue{"node-pool.lailin.xyz/rack": "mine"},
		Annotations: map[string]v1.AnnotationValue{"node-pool.lailin.xyz/contact": "rack@example.com"},
	})
}

// otherPools choose their members in every way, and not the node of benchNode.
func otherPools(count int) []*v1.NodePool {
	pools := make([]*v1.NodePool, 0, count)
	for i := range count {
		name := fmt.Sprintf("pool-%d", i)
		spec := v1.NodePoolSpec{
			Labels: map[string]v1.LabelValue{"node-pool.lailin.xyz/a": "8", "node-pool.lailin.xyz/b": "2"},
			Taints: []v1.Taint{{Key: "node-pool.lailin.xyz", Value: name, Effect: corev1.TaintEffectNoSchedule}},
		}
		switch i % 6 {
		case 0: // by the role label
		case 1: // every node is of the cluster; few are of the team
			spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"cluster": "production", "team": v1.LabelValue(name)}}
		case 2:
			spec.NodeNames = []string{fmt.Sprintf("rack-%d-*", i)}
		case 3:
			spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
				{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: []string{name, "rack-" + name}},
			}}
		case 4:
			spec.Parent = fmt.Sprintf("pool-%d", i-4)
		case 5:
			spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
				{Key: "accelerator.example/" + name, Operator: metav1.LabelSelectorOpExists},
			}}
		}
		pools = append(pools, define(name, spec))
	}
	return pools
}

// benchNode is a node with as much on it as a cloud puts there.
func benchNode(t testing.TB, s server) *NodeState {
	t.Helper()
	return s.update(t, newNode("n"), "kubelet", func(node *NodeState) {
		node.Labels = map[string]string{
			"cluster": "production", "team": "none", "topology.kubernetes.io/zone": "z", "kubernetes.io/os": "linux",
			"rack": "mine", v1.RoleLabel("mine"): "",
		}
		for i := range 14 {
			node.Labels[fmt.Sprintf("cloud.example/label-%d", i)] = "value"
		}
		node.Annotations = map[string]string{"csi.volume.kubernetes.io/nodeid": `{"csi.example":"n"}`, "volumes.kubernetes.io/controller-managed-attach-detach": "true"}
		node.Taints = []corev1.Taint{
			{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute},
			{Key: "cloud.example/reserved", Value: "x", Effect: corev1.TaintEffectNoSchedule},
		}
	})
}
