package review

import (
	"fmt"
	"slices"
	"strings"
)

// Exceeds returns a sentence for each threshold that the clusters exceed together, with
// the clusters that contribute. Where the count of a threshold is not known of a cluster,
// the error is [ErrNotKnown], whether or not others are exceeded.
func (r *Reviews) Exceeds(thresholds []Threshold) ([]string, error) {
	var exceeded []string
	for _, threshold := range thresholds {
		for _, cluster := range r.Clusters {
			if cluster.Review == nil {
				return nil, fmt.Errorf("%s %w: the cluster %s could not be compared", threshold.Count, ErrNotKnown, Word(cluster.Name))
			}
			if missing := cluster.Review.missing(threshold.Count); missing != "" {
				return nil, fmt.Errorf("%s %w: the comparison knows no %s of the cluster %s", threshold.Count, ErrNotKnown, missing, Word(cluster.Name))
			}
		}
		if n := r.Summary.Counts.number(threshold.Count); n >= threshold.TooMany {
			exceeded = append(exceeded, fmt.Sprintf("%s: %d in all clusters, and the limit is %d: %s",
				threshold.Count, n, threshold.TooMany-1, r.contributions(threshold.Count)))
		}
	}
	return exceeded, nil
}

// maxContributions is how many clusters a sentence names.
const maxContributions = 10

// contributions names the clusters that have any of a count, those with the most first.
func (r *Reviews) contributions(count string) string {
	clusters := slices.DeleteFunc(slices.Clone(r.Clusters), func(c Cluster) bool { return c.Review.Summary.Counts.number(count) == 0 })
	slices.SortStableFunc(clusters, func(a, b Cluster) int {
		return b.Review.Summary.Counts.number(count) - a.Review.Summary.Counts.number(count)
	})
	var parts []string
	for _, cluster := range clusters[:min(len(clusters), maxContributions)] {
		parts = append(parts, fmt.Sprintf("%s %d", Word(cluster.Name), cluster.Review.Summary.Counts.number(count)))
	}
	if more := len(clusters) - maxContributions; more > 0 {
		parts = append(parts, Count(more, "more cluster"))
	}
	return strings.Join(parts, ", ")
}
