package form

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
)

func TestNotesOfClusters(t *testing.T) {
	noted := func(name string, notes ...string) review.Cluster {
		return review.Cluster{Name: name, Review: &review.Review{Notes: notes}}
	}
	failed := review.Cluster{Name: "c", Failure: &review.Failure{Message: "no"}}
	for name, c := range map[string]struct {
		reason, form string
		clusters     []review.Cluster
		want         []string
	}{
		"common":  {"what holds for each is said once", JSON, []review.Cluster{noted("a", "x", "y"), noted("b", "y"), failed}, []string{"of all", "a: x", "y"}},
		"single":  {"what holds for the only one is its own", JSON, []review.Cluster{noted("a", "x"), failed}, []string{"of all", "a: x"}},
		"in text": {"text has those of all itself", Text, []review.Cluster{noted("a", "x"), noted("b")}, []string{"a: x"}},
	} {
		if diff := cmp.Diff(c.want, NotesOfClusters(c.form, &review.Reviews{Notes: []string{"of all"}, Clusters: c.clusters})); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}
