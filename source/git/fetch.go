package git

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// Fetch brings the very revision that Head named, whole, or fails. If the ref has moved
// since, either the server still gives the revision that is asked for, or the error is
// source.ErrMoved; it is never another one.
//
// One commit without its history is fetched, into a temporary file that is gone
// when Fetch returns. Every fetch is fresh: an earlier one leaves nothing that
// could be mistaken for a part of it.
//
// A commit that is not at the tip of any branch or tag is not given out by every
// server. Where it is refused, and Ref names that commit, the branches and tags
// are fetched with their history, up to MaxPackBytes.
//
// Errors: source.ErrInvalid, source.ErrMoved, source.ErrRefMissing,
// source.ErrPathMissing, source.ErrPathNotFolder, source.ErrPathEmpty, source.ErrFile,
// source.ErrTooLarge, and those of the connection.
func (r *Repository) Fetch(ctx context.Context, revision string) (*source.Snapshot, error) {
	t, err := r.check()
	if err != nil {
		return nil, err
	}
	wanted, err := object.ParseRevision(revision)
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.within(ctx)
	defer cancel()

	snapshot, err := t.fetch(ctx, wanted)
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	return snapshot, nil
}

func (t *target) fetch(ctx context.Context, wanted object.Revision) (*source.Snapshot, error) {
	store, err := newPack(ctx, t)
	if err != nil {
		return nil, err
	}
	defer store.discard()

	err = t.fetchTip(ctx, wanted.Hash, store)
	if errors.Is(err, errRefused) && t.Ref.Commit != "" {
		err = t.fetchHistory(ctx, wanted.Hash, store)
	}
	if errors.Is(err, errRefused) {
		return nil, t.unavailable(wanted)
	}
	if err != nil {
		return nil, err
	}
	return t.snapshot(store, wanted)
}

// fetchTip asks for one commit and no history.
func (t *target) fetchTip(ctx context.Context, commit plumbing.Hash, into *pack) error {
	server, err := t.dial(ctx)
	if err != nil {
		return err
	}
	defer server.close()
	a, err := t.refs(server, func(_ string, hash plumbing.Hash) bool { return hash == commit })
	if err != nil {
		return err
	}
	return t.take(server, a, request{wants: []plumbing.Hash{wantFor(commit, a)}, shallow: true}, into)
}

// wantFor is what to ask for to get a commit. The commit of an annotated tag is
// no tip in the eyes of a server, while the tag is, and brings it along.
func wantFor(commit plumbing.Hash, a *advertisement) plumbing.Hash {
	var tag string
	for name, hash := range a.refs {
		if hash == commit {
			return commit
		}
		if a.peeled[name] == commit && (tag == "" || name < tag) {
			tag = name
		}
	}
	if tag != "" {
		return a.refs[tag]
	}
	return commit
}

// fetchHistory asks for everything that a branch or a tag leads to, among which
// the commit may be.
func (t *target) fetchHistory(ctx context.Context, commit plumbing.Hash, into *pack) error {
	server, err := t.dial(ctx)
	if err != nil {
		return err
	}
	defer server.close()
	a, err := t.refs(server, func(name string, _ plumbing.Hash) bool {
		return plumbing.ReferenceName(name).IsBranch() || plumbing.ReferenceName(name).IsTag()
	})
	if err != nil {
		return err
	}
	var wants []plumbing.Hash
	for _, hash := range a.refs {
		wants = append(wants, hash)
	}
	if len(wants) == 0 {
		return errRefused
	}
	plumbing.HashesSort(wants)
	if err := t.take(server, a, request{wants: slices.Compact(wants)}, into); err != nil {
		return err
	}
	if !into.has(commit) {
		return errRefused
	}
	return nil
}

// errRefused is the server's answer to a want that it will not serve.
var errRefused = errors.New("the server does not give out this commit")

// unavailable says which revision is not to be had. A commit that was named by its hash
// cannot have moved: there is no such commit.
func (t *target) unavailable(wanted object.Revision) *source.Error {
	if t.Ref.Commit != "" {
		return t.fail(source.ErrRefMissing, "there is no commit "+wanted.Hash.String()+" on any branch or tag")
	}
	return t.fail(source.ErrMoved, fmt.Sprintf("%s is no longer at %s", t.Ref, wanted.Hash))
}
