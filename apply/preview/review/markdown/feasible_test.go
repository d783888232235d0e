package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

// What nothing creates again is listed once, and is not among what finds no node.
func TestNotRecreatedListsEachOnce(t *testing.T) {
	shell := impact.Workload{Kind: "Pod", Namespace: "tools", Name: "shell"}
	logs := impact.Workload{Kind: "DaemonSet", Namespace: "kube-system", Name: "logs"}
	all := []impact.Eviction{
		{Workload: shell, NotRecreated: true}, {Workload: logs, NotRecreated: true}, {Workload: logs, AfterSeconds: 60, NotRecreated: true},
		{Workload: impact.Workload{Kind: "Deployment", Namespace: "web", Name: "api"}},
	}
	if diff := cmp.Diff([]string{workload(shell), workload(logs)}, notRecreated(all).rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if rows := infeasible(&impact.Impact{Evictions: all}).rows; len(rows) > 0 {
		t.Errorf("no node is left for %v, of which there is no next pod", rows)
	}
}

// A workload of which some pods are evicted, at several times, and others could not be
// scheduled again has infeasible to go once.
func TestNoFeasibleNodeListsEachWorkloadOnce(t *testing.T) {
	api := impact.Workload{Kind: "Deployment", Namespace: "web", Name: "api"}
	db := impact.Workload{Kind: "StatefulSet", Namespace: "data", Name: "db"}
	got := infeasible(&impact.Impact{
		Evictions: []impact.Eviction{
			{Workload: api, NoFeasibleNode: true}, {Workload: api, AfterSeconds: 60, NoFeasibleNode: true}, {Workload: db},
		},
		Unschedulable: []impact.Unschedulable{{Workload: api, NoFeasibleNode: true}, {Workload: db, NoFeasibleNode: true}},
	})
	if diff := cmp.Diff([]string{workload(api), workload(db)}, got.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
