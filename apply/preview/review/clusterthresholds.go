package review

import (
	"fmt"
	"slices"
	"strings"
)

// Exceeds returns a sentence for each threshold that the clusters exceed together, with
// the clusters that contribute. A count that is not known of a cluster is at least that of
// the others: where these do not exceed a threshold, the error is [ErrNotKnown], beside
// the sentences on the other thresholds.
func (r *Reviews) Exceeds(thresholds []Threshold) ([]string, error) {
	var exceeded []string
	var notKnown error
	for _, threshold := range thresholds {
		missing := r.missing(threshold.Count)
		n := r.Summary.Counts.number(threshold.Count)
		if n < threshold.TooMany {
			if notKnown == nil {
				notKnown = missing
			}
			continue
		}
		atLeast := ""
		if missing != nil {
			atLeast = "at least "
		}
		where := "in all clusters"
		if slices.Contains(ofOne, threshold.Count) {
			where = "in one cluster"
		}
		exceeded = append(exceeded, fmt.Sprintf("%s: %s%d %s, and the limit is %d: %s",
			threshold.Count, atLeast, n, where, threshold.TooMany-1, r.contributions(threshold.Count)))
	}
	return exceeded, notKnown
}

// missing is an [ErrNotKnown] that names the first cluster of which a count is not known.
func (r *Reviews) missing(count string) error {
	for _, cluster := range r.Clusters {
		if cluster.Review == nil {
			return fmt.Errorf("%s %w: the cluster %s could not be compared", count, ErrNotKnown, Word(cluster.Name))
		}
		if missing := cluster.Review.missing(count); missing != "" {
			return cluster.Review.notKnown(count, " in the cluster "+Word(cluster.Name), missing)
		}
	}
	return nil
}

// maxContributions is how many clusters a sentence names.
const maxContributions = 10

// contributions names the clusters that have any of a count, those with the most first.
func (r *Reviews) contributions(count string) string {
	clusters := slices.DeleteFunc(slices.Clone(r.Clusters), func(c Cluster) bool {
		return c.Review == nil || c.Review.Summary.Counts.number(count) == 0
	})
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
