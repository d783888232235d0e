package main

import (
	"context"
	"errors"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/preview/compare"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/apply/preview/review/form"
)

// runClusters prints the reviews of several clusters in one document.
func (o *diffOptions) runClusters(ctx context.Context, std streams) error {
	reviewed, err := compare.Clusters(o.against.inventories, func(inventory string) (*compare.Sides, error) {
		s, err := o.sidesOf(ctx, inventory)
		if err == nil {
			s.AddWindowNotes(o.at.moment, o.at.words())
		}
		return s, err
	})
	if twice := (*compare.SameInventoryError)(nil); errors.As(err, &twice) {
		return usagef("--inventory: %w", twice)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // half of the clusters look as if they had failed
	}
	for _, note := range form.NotesOfClusters(o.output.format, reviewed) {
		std.note("%s", note)
	}
	if err := o.output.writeClusters(std.out, reviewed); err != nil {
		return err
	}
	return o.outcomeOfClusters(reviewed)
}

// outcomeOfClusters is an error where some clusters could not be compared. That the
// others do more than is allowed is the graver one, and names the former as well.
func (o *diffOptions) outcomeOfClusters(r *review.Reviews) error {
	failed := r.Err()
	if failed == nil {
		return o.outcome(r)
	}
	if exceeded := (*outcome)(nil); errors.As(o.failOn.check(r), &exceeded) && exceeded.code == exitExceeded {
		lines := []string{hint.Of(exceeded.err), failed.Error(), hint.Of(failed)}
		return &outcome{code: exitExceeded, err: hint.Add(exceeded.err, strings.Join(lines, "\n"))}
	}
	return failed
}
