package local

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// MergeBase is the revision where two others part, the best ancestor that they
// have in common: what 'git merge-base' prints. It has no name.
//
// Errors: source.ErrUnrelated where there is none, or more than one;
// source.ErrIncomplete where there is none in what a shallow clone has of the history.
func (r *Repository) MergeBase(ctx context.Context, one, other string) (string, error) {
	first, err := object.ParseRevision(one)
	if err != nil {
		return "", err
	}
	second, err := object.ParseRevision(other)
	if err != nil {
		return "", err
	}
	about := "merge base of " + brief(first) + " and " + brief(second)
	found, err := (&objects{Repository: r, ctx: ctx}).mergeBases(first.Hash, second.Hash)
	switch {
	case err != nil:
		return "", r.explain(ctx, about, err)
	case len(found) == 0 && r.Shallow():
		return "", r.incomplete(about, "not found in this clone")
	case len(found) == 0:
		return "", source.NewError(source.ErrUnrelated, about, "there is none, as they have no ancestor in common")
	case len(found) > 1:
		var names []string
		for _, hash := range found {
			names = append(names, hash.String()[:12])
		}
		return "", source.NewError(source.ErrUnrelated, about, fmt.Sprintf("there are %d: %s", len(found), strings.Join(names, ", "))).
			WithHint("name one of them as the base")
	}
	return object.Revision{Hash: found[0]}.String(), nil
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
//
// go-git walks the whole history of one of them: for a branch that has left a history of
// 20,000 commits a hundred commits ago it takes 77 times as long and allocates 80 times
// as much (BenchmarkMergeBase).
func (o *objects) mergeBases(one, other plumbing.Hash) ([]plumbing.Hash, error) {
	walk := &history{objects: o, painted: map[plumbing.Hash]paint{}, queued: map[plumbing.Hash]int{}, common: map[plumbing.Hash]bool{}}
	if err := walk.reach(one, fromOne); err != nil {
		return nil, err
	}
	if err := walk.reach(other, fromOther); err != nil {
		return nil, err
	}
	for walk.fresh > 0 || len(walk.queue) > 0 && walk.bestCount > 1 {
		commit := walk.next()
		colour := walk.painted[commit.hash]
		if colour == fromOne|fromOther {
			if !walk.common[commit.hash] {
				walk.bestCount++
			}
			walk.common[commit.hash] = true
			colour |= stale
		}
		if o.shallow[commit.hash] {
			continue
		}
		for _, parent := range commit.parents {
			if err := walk.reach(parent, colour); err != nil {
				return nil, err
			}
		}
	}
	return walk.best(), nil
}

// history is a walk through commits. It counts as it goes: to look at the whole queue
// at each step, a commit with 100,000 parents would take hours.
type history struct {
	*objects
	painted map[plumbing.Hash]paint
	queue   youngest
	queued  map[plumbing.Hash]int // how often a commit is in the queue
	// fresh is how much of the queue could lead to an ancestor in common.
	fresh int
	// common are ancestors of both; bestCount of them are not stale.
	common    map[plumbing.Hash]bool
	bestCount int
	// length counts commits and their parents.
	length int
}

// visited is what the walk needs of a commit; its message may be long.
type visited struct {
	hash    plumbing.Hash
	parents []plumbing.Hash
	when    time.Time
}

// maxHistory bounds a walk, in commits and parents together: some hundred megabytes.
// Linux has three millions.
const maxHistory = 10_000_000

// reach paints a commit, and queues it unless it had all of that colour.
func (h *history) reach(hash plumbing.Hash, colour paint) error {
	before := h.painted[hash]
	if before&colour == colour {
		return nil
	}
	commit, err := object.Commit(h, hash)
	if err != nil {
		return err
	}
	if h.length += 1 + len(commit.ParentHashes); h.length > maxHistory {
		return source.NewError(source.ErrTooLarge, "", fmt.Sprintf("the history has more than %d commits and parents", maxHistory)).
			WithHint("name the revision to compare with by itself")
	}
	h.painted[hash] |= colour
	if before&stale == 0 && colour&stale != 0 {
		h.fresh -= h.queued[hash]
		if h.common[hash] {
			h.bestCount--
		}
	}
	h.queued[hash]++
	if h.painted[hash]&stale == 0 {
		h.fresh++
	}
	heap.Push(&h.queue, &visited{hash: hash, parents: commit.ParentHashes, when: commit.Committer.When})
	return nil
}

func (h *history) next() *visited {
	commit := heap.Pop(&h.queue).(*visited)
	h.queued[commit.hash]--
	if h.painted[commit.hash]&stale == 0 {
		h.fresh--
	}
	return commit
}

// best are the common ancestors that are not behind another one, sorted by hash.
func (h *history) best() []plumbing.Hash {
	var best []plumbing.Hash
	for hash := range h.common {
		if h.painted[hash]&stale == 0 {
			best = append(best, hash)
		}
	}
	slices.SortFunc(best, func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
	return best
}

// youngest is a heap of commits.
type youngest []*visited

func (y youngest) Len() int           { return len(y) }
func (y youngest) Less(i, j int) bool { return y[i].when.After(y[j].when) }
func (y youngest) Swap(i, j int)      { y[i], y[j] = y[j], y[i] }
func (y *youngest) Push(commit any)   { *y = append(*y, commit.(*visited)) }

func (y *youngest) Pop() any {
	last := len(*y) - 1
	commit := (*y)[last]
	(*y)[last] = nil
	*y = (*y)[:last]
	return commit
}
