package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
)

// takeBase reads the base. One that no source takes gives way to the pools of the
// inventory, or to none, so that the change that repairs it can be reviewed.
func (r *revisions) takeBase(ctx context.Context) error {
	refusal := r.take(ctx, &r.base)
	r.checkTip(ctx, refusal)
	if !isRefused(refusal) {
		return refusal
	}
	r.broken = brokenBase(r.base.title(), refusal)
	r.base = end{what: "base", name: "no pools", note: r.base.called() + " is not taken"}
	if r.state.NodesKnown {
		r.base.name, r.standing = r.state.Name, true
	}
	return nil
}

// checkTip finds out whether what the head goes into has other pools than the merge base,
// and notes that they have been broken since: it is not compared with, so nothing else that
// is wrong with it matters here. A branch may begin wherever its author likes, before a wall
// for example, and merging it does more than the branch by itself.
func (r *revisions) checkTip(ctx context.Context, refusal error) {
	if r.tip.revision == "" || strings.HasSuffix(r.tip.revision, r.base.revision) {
		return
	}
	then, unknown := r.repository.Tree(ctx, r.base.revision, r.folder)
	now, alsoUnknown := r.repository.Tree(ctx, r.tip.revision, r.folder)
	r.moved = then != now || unknown != nil || alsoUnknown != nil
	if refusal != nil {
		return
	}
	if since := r.take(ctx, &r.tip); isRefused(since) {
		first := brokenBase(r.tip.title(), since)
		r.brokenTip = fmt.Sprintf("%s is broken since, and no source takes it until it is repaired: %s", first.Revision, strings.Join(first.List(), "; "))
	}
}

// take reads the pools of a base, and asks whether a source would take them.
func (r *revisions) take(ctx context.Context, e *end) error {
	if err := e.load(ctx, r.repository, r.folder); err != nil {
		return err
	}
	if _, err := plan.Pools(r.baseRevision(e), r.state.Pools); err != nil {
		return notTakenError{hint.Add(fmt.Errorf("the base %s would not be taken: %w", e.name, err), "the inventory is of a cluster in which that revision has no place; compare with one that is carried out there")}
	}
	return nil
}

// notTakenError is a revision that has no place in the cluster.
type notTakenError struct{ error }

func (e notTakenError) Unwrap() error { return e.error }

func isNotTaken(err error) bool { return errors.As(err, new(notTakenError)) }

// isRefused reports whether a source would refuse the revision. What is wrong with the
// clone alone is no reason for that.
func isRefused(err error) bool {
	return errors.As(err, new(render.Problems)) || isNotTaken(err) ||
		errors.Is(err, source.ErrFile) || errors.Is(err, source.ErrTooLarge) || errors.Is(err, source.ErrPathNotFolder)
}

// maxBaseProblems is how many problems of the base a review names.
const maxBaseProblems = 3

func brokenBase(revision string, refusal error) *review.BrokenBase {
	broken := &review.BrokenBase{Revision: revision}
	problems := render.Problems(nil)
	if !errors.As(refusal, &problems) {
		broken.Problems = []string{refusal.Error()}
		return broken
	}
	for _, problem := range problems[:min(len(problems), maxBaseProblems)] {
		broken.Problems = append(broken.Problems, problem.String())
	}
	broken.MoreProblems = problems[len(broken.Problems):].Count()
	return broken
}
