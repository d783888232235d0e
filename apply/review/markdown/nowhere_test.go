package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/impact"
)

// A workload of which some pods are evicted, at several times, and others could not be
// scheduled again has nowhere to go once.
func TestNowhereTellsEachWorkloadOnce(t *testing.T) {
	api := impact.Workload{Kind: "Deployment", Namespace: "web", Name: "api"}
	db := impact.Workload{Kind: "StatefulSet", Namespace: "data", Name: "db"}
	got := nowhere(&impact.Impact{
		Evictions: []impact.Eviction{
			{Workload: api, Nowhere: true}, {Workload: api, AfterSeconds: 60, Nowhere: true}, {Workload: db},
		},
		Unschedulable: []impact.Unschedulable{{Workload: api, Nowhere: true}, {Workload: db, Nowhere: true}},
	})
	if diff := cmp.Diff([]string{workload(api), workload(db)}, got.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
