package review

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
)

// ExceededError means that a change does more than it may.
type ExceededError struct {
	// Thresholds has a sentence for each that is exceeded.
	Thresholds []string
}

func (e *ExceededError) Error() string { return "the change does more than --fail-on allows" }

// Hint is what is too much.
func (e *ExceededError) Hint() string { return strings.Join(e.Thresholds, "\n") }

// Check compares a review, or those of several clusters, with thresholds. Where one is
// exceeded, the error is an [*ExceededError], and else, where one is about what is not
// known, it wraps [ErrNotKnown].
func Check(r interface {
	Exceeds(thresholds []Threshold) ([]string, error)
}, thresholds []Threshold) error {
	exceeded, err := r.Exceeds(thresholds)
	switch {
	case len(exceeded) > 0:
		return &ExceededError{Thresholds: exceeded}
	case errors.Is(err, ErrNotKnown):
		const inventory = "compare with a cluster, or give what is known of one: --inventory FILE, which 'nodepools inventory' writes"
		return hint.Add(fmt.Errorf("--fail-on: %w", err), cmp.Or(hint.Of(err), inventory))
	case err != nil:
		return fmt.Errorf("--fail-on: %w", err)
	}
	return nil
}

// Err is an error where some clusters could not be compared, with the reason for each.
func (r *Reviews) Err() error {
	var failures []string
	for _, cluster := range r.Clusters {
		if cluster.Failure != nil {
			failures = append(failures, Word(cluster.Name)+": "+cluster.Failure.Message)
			for _, problem := range cluster.Failure.List() {
				failures = append(failures, "    "+problem)
			}
		}
	}
	if len(failures) == 0 {
		return nil
	}
	return hint.Add(fmt.Errorf("%d of %s could not be compared", len(r.Failed()), Count(len(r.Clusters), "cluster")), strings.Join(failures, "\n"))
}
