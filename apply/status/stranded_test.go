package status_test

import (
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/status"
)

// Pods that were created before the RuntimeClass changed are counted, the first is named, and
// there is a command.
func TestStrandedPods(t *testing.T) {
	pool := poolOf("done", nil, reports(v1.ReadyCondition, v1.SucceededReason, "4 of 4 nodes up to date", time.Hour, 4, 4, 0))
	cluster := status.Cluster{Pools: []*v1.NodePool{pool}, Nodes: nodesOf(t, pool, 4)}
	for i := range cluster.Nodes {
		follow(t, &cluster.Nodes[i], time.Hour, pool)
		cluster.Nodes[i].Labels[v1.RoleLabel("done")] = ""
	}
	class := func(tier string) *nodev1.RuntimeClass {
		return &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("done")},
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{v1.RoleLabel("done"): "", "example.com/tier": tier}},
		}
	}
	cluster.Classes = []*nodev1.RuntimeClass{class("2")}
	for name, tier := range map[string]string{"train-1": "1", "train-0": "1", "full": "2"} {
		cluster.Waiting = append(cluster.Waiting, plan.WaitingPod{
			Namespace: "team", Name: name, PodScheduling: plan.PodScheduling{RuntimeClass: v1.RuntimeClassName("done"), NodeSelector: class(tier).Scheduling.NodeSelector},
		})
	}
	report := status.Of(cluster, now)
	golden(t, "stranded.txt", textOf(t, report, status.Form{}))
	golden(t, "stranded.detail.txt", textOf(t, report, status.Form{Detail: true}))
	got := report.Pools[0].PodsStranded
	if got == nil || got.Count != 2 || got.First != "team/train-0" || got.Remedy != "kubectl delete --namespace team pod/train-0" {
		t.Errorf("%+v, want the two pods of the earlier RuntimeClass, and the command for the first", got)
	}
}
