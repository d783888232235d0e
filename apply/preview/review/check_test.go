package review_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/preview/review"
)

func TestCheck(t *testing.T) {
	nodes := 10
	r := &review.Review{Compared: review.Compared{Nodes: &nodes}, Summary: review.Summary{Counts: review.Counts{NodesChanged: 7}}}
	if err := review.Check(r, []review.Threshold{{Count: "nodesChanged", TooMany: 8}}); err != nil {
		t.Errorf("7 are less than 8: %v", err)
	}
	err := review.Check(r, []review.Threshold{{Count: "nodesChanged", TooMany: 7}})
	exceeded := (*review.ExceededError)(nil)
	if !errors.As(err, &exceeded) {
		t.Fatalf("7 are no less than 7: %v", err)
	}
	if diff := cmp.Diff([]string{"nodesChanged: 7, and the limit is 6"}, exceeded.Thresholds); diff != "" || hint.Of(err) != exceeded.Thresholds[0] {
		t.Errorf("what is exceeded, and the hint %q (-want +got):\n%s", hint.Of(err), diff)
	}
	if err := review.Check(r, []review.Threshold{{Count: "evictions", TooMany: 1}}); !errors.Is(err, review.ErrNotKnown) || hint.Of(err) == "" {
		t.Errorf("of pods nothing is known: %v", err)
	}
}

func TestFailedClusters(t *testing.T) {
	r := &review.Reviews{Clusters: []review.Cluster{{Name: "a", Review: &review.Review{}}}}
	if err := r.Err(); err != nil {
		t.Errorf("all were compared: %v", err)
	}
	r.Clusters = append(r.Clusters, review.Cluster{Name: "b", Failure: &review.Failure{Message: "it is no inventory"}})
	if err := r.Err(); err == nil || err.Error() != "1 of 2 clusters could not be compared" || hint.Of(err) != "b: it is no inventory" {
		t.Errorf("got %v, and the hint %q", err, hint.Of(err))
	}
}
