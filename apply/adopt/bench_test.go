package adopt_test

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/plan"
)

// fleets are clusters of so many nodes, each hard in its way.
var fleets = map[string]func(nodes int) plan.Cluster{
	// Racks of alike nodes, whose names count.
	"racks": func(nodes int) plan.Cluster {
		return fleet(nodes, func(i int, node *plan.NodeState) {
			node.Name = fmt.Sprintf("node-%05d", i)
			node.Labels["example.com/team"] = fmt.Sprint("team-", i/100)
		})
	},
	// Every node carries another set of labels, and the names of alike ones do not
	// stand together.
	"each its own": func(nodes int) plan.Cluster {
		return fleet(nodes, func(i int, node *plan.NodeState) {
			node.Name = fmt.Sprintf("ip-10-0-%d-%d", i%256, i/256)
			for bit := range 13 {
				if i&(1<<bit) != 0 {
					node.Labels[fmt.Sprint("example.com/bit-", bit)] = "yes"
				}
			}
		})
	},
	// A protected label for each node, any of which could choose the members of a pool.
	"a key per tenant": func(nodes int) plan.Cluster {
		return fleet(nodes, func(i int, node *plan.NodeState) {
			node.Name = fmt.Sprintf("node-%05d", i)
			node.Labels[fmt.Sprint("node-restriction.kubernetes.io/tenant-", i)] = ""
		})
	},
	// One group of names that nothing shortens, more than a pool may list.
	"one of many names": func(nodes int) plan.Cluster {
		return fleet(nodes, func(i int, node *plan.NodeState) {
			node.Name = fmt.Sprintf("ip-10-%d-%d-%d", i*7919%251, i*104729%241, i)
			if i%2 == 0 {
				node.Labels["example.com/team"] = "a"
			}
		})
	},
}

func fleet(nodes int, dress func(i int, node *plan.NodeState)) plan.Cluster {
	var cluster plan.Cluster
	for i := range nodes {
		node := &plan.NodeState{Labels: map[string]string{
			v1.RoleLabel("worker"): "", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": fmt.Sprint("zone-", i%3),
			"node.kubernetes.io/instance-type": "large", "env": "production",
		}}
		dress(i, node)
		node.Labels["kubernetes.io/hostname"] = node.Name
		node.Taints = []corev1.Taint{{Key: "dedicated", Value: "worker", Effect: corev1.TaintEffectNoSchedule}}
		node.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubectl-label", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:env":{},"f:example.com/team":{},"f:node-role.kubernetes.io/worker":{}}}}`)},
			{Manager: "kubectl-taint", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)},
			{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:volumes.kubernetes.io/controller-managed-attach-detach":{}},"f:labels":{".":{},"f:kubernetes.io/arch":{},"f:kubernetes.io/hostname":{},"f:kubernetes.io/os":{},"f:node.kubernetes.io/instance-type":{},"f:topology.kubernetes.io/zone":{}}}}`)},
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	return cluster
}

// The work grows with the nodes, and not with pairs of them: four times as many nodes
// take some four times the memory, in some four times the pieces, whatever they carry.
func TestWorkGrowsWithTheNodes(t *testing.T) {
	for name, fleet := range fleets {
		t.Run(name, func(t *testing.T) {
			work := func(nodes int) (bytes, allocations uint64) {
				cluster := fleet(nodes)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := adopt.Propose(cluster, adopt.Options{}); err != nil {
					t.Error(err)
				}
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
			}
			fewBytes, few := work(400)
			manyBytes, many := work(1600)
			t.Logf("400 nodes take %d bytes in %d allocations, 1,600 take %d in %d", fewBytes, few, manyBytes, many)
			if manyBytes > 6*fewBytes || many > 6*few {
				t.Errorf("four times the nodes take %.1f times the memory in %.1f times the allocations",
					float64(manyBytes)/float64(fewBytes), float64(many)/float64(few))
			}
		})
	}
}

func BenchmarkPropose(b *testing.B) {
	for name, fleet := range fleets {
		b.Run(name, func(b *testing.B) {
			cluster := fleet(5000)
			for b.Loop() {
				proposal, err := adopt.Propose(cluster, adopt.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(proposal.Pools)), "pools")
			}
		})
	}
}
