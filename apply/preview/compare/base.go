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

// takeBase reads the base. One that no source takes gives way to what sources have
// meanwhile, so that the change that repairs it can be reviewed: its last good ancestor,
// or what the inventory says is in the cluster. Where the whole history has nothing
// good, no source has ever taken anything.
func (r *revisions) takeBase(ctx context.Context) error {
	refusal := r.take(ctx, &r.base)
	r.checkTip(ctx, refusal)
	if refusal == nil && r.base.missing && !r.state.NodesKnown {
		return r.takeVanished(ctx)
	}
	if !isRefused(refusal) {
		return refusal
	}
	asked := r.base
	r.broken = brokenBase(asked.title(), refusal)
	var good *end
	err := refusal
	if !isNotTaken(refusal) {
		good, err = r.lastGood(ctx)
	}
	switch {
	case isNotTaken(err):
		// Which pools a source owns is of the cluster and of today: it may have carried
		// out this very revision before.
		r.base = end{what: "base", name: r.state.Name, note: asked.called() + ", or what it builds on, is not taken there"}
		r.standing = true
	case err != nil && !isUnfinished(err):
		return err
	case good != nil:
		r.base = *good
	case r.state.NodesKnown:
		r.base = end{what: "base", name: r.state.Name, note: "no ancestor of " + asked.called() + " is good"}
		if err != nil {
			r.base.note = "no good ancestor of " + asked.called() + " was found"
			r.unfinished = err.Error() + ": " + hint.Of(err)
		}
		r.standing = true
	case err != nil:
		return hint.Add(fmt.Errorf("%w, and no good ancestor was found to compare with instead: %w", refusal, err),
			hint.Of(err)+"; or give --inventory, to compare with what is in the cluster")
	default:
		r.base = end{what: "base", name: "no pools", note: "no ancestor of " + asked.called() + " is good"}
	}
	return nil
}

// takeVanished takes a base without the folder. Where an ancestor has it, sources have
// kept what that said: they prune nothing for a folder that is gone. An inventory knows
// what they have. Where no ancestor is known to have it, it is yet to come.
func (r *revisions) takeVanished(ctx context.Context) error {
	good, err := r.lastGood(ctx)
	switch {
	case err != nil && !isUnfinished(err):
		return err
	case good != nil:
		gone := fmt.Sprintf("there are no pool files in %s any more, and a source keeps the pools that it has", r.base.place(r.folder))
		r.broken = &review.BrokenBase{Revision: r.base.title(), Problems: []string{gone}}
		r.base = *good
	case errors.Is(err, source.ErrIncomplete):
		r.unfinished = "whether there were pools before is not known: " + err.Error()
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

// MaxAncestors is how many states of the folder are read to find a good one.
const MaxAncestors = 100

var errTried = fmt.Errorf("the %d revisions of the folder before it are broken as well", MaxAncestors)

// isUnfinished reports whether there may be a good ancestor all the same.
func isUnfinished(err error) bool {
	return errors.Is(err, source.ErrIncomplete) || errors.Is(err, source.ErrTooLarge) || errors.Is(err, errTried)
}

// lastGood is the youngest ancestor that a source takes, along the first parents; nil
// where there is none. An ancestor without the folder is none, as for a source. One that
// only has no place in the cluster is an error: it may have been carried out, so what
// is older is not what stands.
func (r *revisions) lastGood(ctx context.Context) (*end, error) {
	// What is wrong with the folder itself is wrong with it in every commit. A link that
	// leads out of it may be good in another one.
	hopeless := map[string]bool{}
	for ancestor, err := range r.repository.Ancestors(ctx, r.base.revision, r.folder) {
		if err != nil {
			return nil, err
		}
		always, tried := hopeless[ancestor.TreeHash]
		if always {
			continue
		}
		if !tried && len(hopeless) == MaxAncestors {
			return nil, hint.Add(errTried, "name a good revision as the base")
		}
		good := end{
			what: "base", name: shortRevision(ancestor.Revision), revision: ancestor.Revision, layers: r.layers(),
			note: fmt.Sprintf("last good ancestor of %s, %s before", r.base.called(), review.Count(ancestor.Generation, "commit")),
		}
		err := r.take(ctx, &good)
		if err == nil && !good.missing {
			return &good, nil
		} else if isNotTaken(err) || err != nil && !isRefused(err) {
			return nil, err
		}
		hopeless[ancestor.TreeHash] = !errors.Is(err, source.ErrFile)
	}
	return nil, nil
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
