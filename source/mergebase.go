package source

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// MergeBase is the revision where two others part, the best ancestor that they
// have in common: what 'git merge-base' prints. It has no name.
//
// Errors: ErrUnrelated where there is none, or more than one; ErrIncomplete where
// there is none in what a shallow clone has of the history.
func (l *Local) MergeBase(ctx context.Context, one, other string) (string, error) {
	first, err := parseRevision(one)
	if err != nil {
		return "", err
	}
	second, err := parseRevision(other)
	if err != nil {
		return "", err
	}
	about := "merge base of " + first.brief() + " and " + second.brief()
	found, err := (&objects{Local: l, ctx: ctx}).mergeBases(first.hash, second.hash)
	switch {
	case err != nil:
		return "", l.explain(ctx, about, err)
	case len(found) == 0 && l.Shallow():
		return "", l.incomplete(about, "not found in this clone")
	case len(found) == 0:
		return "", failure(ErrUnrelated, about, "there is none, as they have no ancestor in common")
	case len(found) > 1:
		var names []string
		for _, hash := range found {
			names = append(names, hash.String()[:12])
		}
		return "", failure(ErrUnrelated, about, fmt.Sprintf("there are %d: %s", len(found), strings.Join(names, ", "))).
			withHint("name one of them as the base")
	}
	return revision{hash: found[0]}.String(), nil
}

// paint says of a commit from which side it was reached. It is stale when a
// better ancestor than itself was found.
type paint uint8

const (
	fromOne paint = 1 << iota
	fromOther
	stale
)

// mergeBases walks back from both commits, the youngest first, until all that is
// left lies behind an ancestor in common: git's own way. Where several are found
// it goes on to the end, as dates can deceive about which is behind which.
func (o *objects) mergeBases(one, other plumbing.Hash) ([]plumbing.Hash, error) {
	walk := &history{objects: o, painted: map[plumbing.Hash]paint{}}
	if err := walk.reach(one, fromOne); err != nil {
		return nil, err
	}
	if err := walk.reach(other, fromOther); err != nil {
		return nil, err
	}
	var common []plumbing.Hash
	for walk.fresh() || len(walk.queue) > 0 && len(walk.best(common)) > 1 {
		commit := heap.Pop(&walk.queue).(*object.Commit)
		colour := walk.painted[commit.Hash]
		if colour == fromOne|fromOther {
			common = append(common, commit.Hash)
			colour |= stale
		}
		if o.shallow[commit.Hash] {
			continue
		}
		for _, parent := range commit.ParentHashes {
			if err := walk.reach(parent, colour); err != nil {
				return nil, err
			}
		}
	}
	return walk.best(common), nil
}

// history is a walk through commits.
type history struct {
	*objects
	painted map[plumbing.Hash]paint
	queue   youngest
}

// reach paints a commit, and queues it unless it had all of that colour.
func (h *history) reach(hash plumbing.Hash, colour paint) error {
	if h.painted[hash]&colour == colour {
		return nil
	}
	commit, err := h.commit(hash)
	if err != nil {
		return err
	}
	commit.Hash = hash
	h.painted[hash] |= colour
	heap.Push(&h.queue, commit)
	return nil
}

// fresh tells whether anything is left that could lead to an ancestor in common.
func (h *history) fresh() bool {
	return slices.ContainsFunc(h.queue, func(commit *object.Commit) bool { return h.painted[commit.Hash]&stale == 0 })
}

// best are those that are not behind another one, sorted by hash.
func (h *history) best(common []plumbing.Hash) []plumbing.Hash {
	var best []plumbing.Hash
	for _, hash := range common {
		if h.painted[hash]&stale == 0 {
			best = append(best, hash)
		}
	}
	slices.SortFunc(best, func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(best)
}

// youngest is a heap of commits.
type youngest []*object.Commit

func (y youngest) Len() int           { return len(y) }
func (y youngest) Less(i, j int) bool { return y[i].Committer.When.After(y[j].Committer.When) }
func (y youngest) Swap(i, j int)      { y[i], y[j] = y[j], y[i] }
func (y *youngest) Push(commit any)   { *y = append(*y, commit.(*object.Commit)) }

func (y *youngest) Pop() any {
	last := len(*y) - 1
	commit := (*y)[last]
	*y = (*y)[:last]
	return commit
}
