package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

// What nothing creates again, and what finds no node, is listed once; the former is not among
// the latter.
func TestWorkloadsAreListedOnce(t *testing.T) {
	logs := impact.Workload{Kind: "DaemonSet", Namespace: "kube-system", Name: "logs"}
	api := impact.Workload{Kind: "Deployment", Namespace: "web", Name: "api"}
	db := impact.Workload{Kind: "StatefulSet", Namespace: "data", Name: "db"}
	got := map[string][]string{}
	for _, section := range Consequences(&impact.Impact{
		Evictions: []impact.Eviction{
			{Workload: logs, NotRecreated: true}, {Workload: logs, AfterSeconds: 60, NotRecreated: true},
			{Workload: api, NoFeasibleNode: true}, {Workload: api, AfterSeconds: 60, NoFeasibleNode: true}, {Workload: db},
		},
		Unschedulable: []impact.Unschedulable{{Workload: api, NoFeasibleNode: true}, {Workload: db, NoFeasibleNode: true}},
	}) {
		for _, item := range section.Items {
			got[section.ID] = append(got[section.ID], item.Head)
		}
	}
	delete(got, "evictions")
	delete(got, "unschedulable")
	want := map[string][]string{"notRecreated": {"DaemonSet kube-system/logs"}, "noFeasibleNode": {"Deployment web/api", "StatefulSet data/db"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
