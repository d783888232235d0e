package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// Fetch brings the very revision that Head named, whole, or fails. If the ref
// has moved since, either the server still gives the revision that is asked for,
// or the error is ErrMoved; it is never another one.
//
// One commit without its history is fetched, into a temporary file that is gone
// when Fetch returns. Every fetch is fresh: an earlier one leaves nothing that
// could be mistaken for a part of it.
//
// A commit that is not at the tip of any branch or tag is not given out by every
// server. Where it is refused, and Ref names that commit, the branches and tags
// are fetched with their history, up to MaxPackBytes.
//
// Errors: ErrInvalid, ErrMoved, ErrRefMissing, ErrPathMissing, ErrPathNotFolder,
// ErrPathEmpty, ErrFile, ErrTooLarge, and those of the connection.
func (g *Git) Fetch(ctx context.Context, revision string) (*Snapshot, error) {
	t, err := g.check()
	if err != nil {
		return nil, err
	}
	wanted, err := parseRevision(revision)
	if err != nil {
		return nil, err
	}
	ctx, cancel := g.within(ctx)
	defer cancel()

	snapshot, err := t.fetch(ctx, wanted)
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	return snapshot, nil
}

func (t *target) fetch(ctx context.Context, wanted revision) (*Snapshot, error) {
	store, err := newPack(ctx, t)
	if err != nil {
		return nil, err
	}
	defer store.discard()

	err = t.fetchTip(ctx, wanted.hash, store)
	if isRefusal(err) && t.Ref.Commit != "" {
		err = t.fetchHistory(ctx, wanted.hash, store)
	}
	if isRefusal(err) {
		return nil, t.gone(wanted)
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
	defer server.hangUp()
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
	defer server.hangUp()
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
		return refusal(t)
	}
	plumbing.HashesSort(wants)
	if err := t.take(server, a, request{wants: slices.Compact(wants)}, into); err != nil {
		return err
	}
	if !into.has(commit) {
		return refusal(t)
	}
	return nil
}

// refusal is the server's answer to a want that it will not serve.
func refusal(t *target) *Error {
	e := t.fail(ErrMoved, "the server does not give out this commit")
	e.refused = true
	return e
}

func isRefusal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.refused
}

// gone says which revision is not to be had. A commit that was named by its hash
// cannot have moved: there is no such commit.
func (t *target) gone(wanted revision) *Error {
	if t.Ref.Commit != "" {
		return t.fail(ErrRefMissing, "there is no commit "+wanted.hash.String()+" on any branch or tag")
	}
	return t.fail(ErrMoved, fmt.Sprintf("%s is no longer at %s", t.Ref, wanted.hash))
}
