package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// Fetch brings the very revision that Head named, whole, or fails. If the ref has moved
// since, either the server still gives the revision that is asked for, or the error is
// source.ErrMoved; it is never another one.
//
// One commit without its history is fetched, into a temporary file that is gone
// when Fetch returns. Where Repository.Cache has an earlier commit, what is new since is
// fetched in addition to that; if anything about it is not as it should be, the commit is
// fetched whole.
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

	c, err := t.converse(ctx, t.ofRef(wanted.Hash))
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	defer c.close()
	snapshot, err := c.fetch(wanted)
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	return snapshot, nil
}

// fetch brings a revision: onto what is kept of an earlier one, or whole.
func (c *conversation) fetch(wanted object.Revision) (*source.Snapshot, error) {
	if kept := c.cache().take(); kept != nil {
		snapshot, err := c.fetchOnto(kept, wanted)
		if err == nil || !c.retriesWhole(err) {
			return snapshot, err
		}
		if err := c.renew(); err != nil {
			return nil, err
		}
	}
	snapshot, err := c.fetchWhole(wanted)
	if c.resumed && c.retriesWhole(err) {
		if err := c.renew(); err != nil {
			return nil, err
		}
		snapshot, err = c.fetchWhole(wanted)
	}
	if errors.Is(err, errRefused) && c.Ref.Commit != "" {
		snapshot, err = c.fetchFromHistory(wanted)
	}
	if errors.Is(err, errRefused) {
		return nil, c.unavailable(wanted)
	}
	return snapshot, err
}

// retriesWhole reports whether a fetch onto an earlier commit has failed in a way in which
// that of the whole may not. What the revision itself says is so either way: it was read
// from objects that are what their hashes say.
func (c *conversation) retriesWhole(err error) bool {
	if source.IsOfRevision(err) {
		return errors.Is(err, source.ErrTooLarge)
	}
	return errors.Is(err, errRefused) || c.surprising(c.ctx, err)
}

// fetchOnto asks for what is new since an earlier commit.
func (c *conversation) fetchOnto(earlier *kept, wanted object.Revision) (*source.Snapshot, error) {
	store, err := c.reopen(c.ctx, earlier)
	if err != nil {
		earlier.discard()
		return nil, err
	}
	err = c.receive(wanted.Hash, earlier, store)
	var snapshot *source.Snapshot
	if err == nil {
		snapshot, err = c.snapshot(store, wanted)
	}
	switch {
	case err == nil, source.IsOfRevision(err) && !c.retriesWhole(err):
		c.cache().keep(store, wanted.Hash)
	case c.retriesWhole(err):
		c.cache().disappoint()
		store.discard()
	case errors.Is(err, source.ErrRateLimited), errors.Is(err, source.ErrCanceled): // what is kept has no part in it
		c.cache().putBack(earlier)
	case earlier.missed+1 >= maxMissed: // what is asked for beside it may be what the server fails at
		store.discard()
	default: // the server may be there the next time
		earlier.missed++
		c.cache().putBack(earlier)
	}
	return snapshot, err
}

// fetchWhole asks for one commit and no history.
func (c *conversation) fetchWhole(wanted object.Revision) (*source.Snapshot, error) {
	store, err := newPack(c.ctx, c.target)
	if err != nil {
		return nil, err
	}
	if err := c.receive(wanted.Hash, nil, store); err != nil {
		store.discard()
		return nil, err
	}
	snapshot, err := c.snapshot(store, wanted)
	if err != nil && !source.IsOfRevision(err) {
		store.discard()
		return nil, err
	}
	c.cache().keep(store, wanted.Hash)
	return snapshot, err
}

// receive stores what the server gives of a commit, in addition to an earlier one if there
// is one.
func (c *conversation) receive(commit plumbing.Hash, earlier *kept, into *pack) error {
	r := request{wants: []plumbing.Hash{commit}, shallow: true}
	if c.Ref.Commit == "" || c.refs != nil {
		refs, err := c.list()
		if err != nil {
			return err
		}
		r.wants[0] = wantFor(commit, refs)
	}
	if earlier != nil {
		r.onto, r.ontoShallow = earlier.commit, earlier.shallow
	}
	return c.take(r, into)
}

// take sends a request and stores the pack that comes back.
func (c *conversation) take(r request, into *pack) error {
	r.largest = c.limits.FileBytes
	a := c.greeting
	if a.version == 2 {
		into.shallow, into.partial = r.shallow && a.fetches("shallow"), into.partial || a.fetches("filter")
		answer, err := c.request(r.encodeV2(a))
		if err != nil {
			return err
		}
		return refusal(receiveV2(answer, into))
	}
	into.shallow, into.partial = r.shallow && a.offers("shallow"), into.partial || a.offers("filter")
	body, err := r.encode(a)
	if err != nil {
		return err
	}
	answer, err := c.request(body)
	if err != nil {
		return err
	}
	return refusal(receiveV0(answer, a, r, into))
}

// refusal is errRefused for an error that the server has put into words.
func refusal(err error) error {
	if _, spoken := errors.AsType[*pktline.ErrorLine](err); spoken {
		return errRefused
	}
	return err
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

// fetchFromHistory asks for everything that a branch or a tag leads to, among which
// the commit may be.
func (c *conversation) fetchFromHistory(wanted object.Revision) (*source.Snapshot, error) {
	c.close()
	c.about, c.refs, c.resumed = ofHistory, nil, false
	if err := c.begin(); err != nil {
		return nil, err
	}
	refs, err := c.list()
	if err != nil {
		return nil, err
	}
	wants := slices.Collect(maps.Values(refs.refs))
	if len(wants) == 0 {
		return nil, errRefused
	}
	plumbing.HashesSort(wants)
	store, err := newPack(c.ctx, c.target)
	if err != nil {
		return nil, err
	}
	defer store.discard()
	if err := c.take(request{wants: slices.Compact(wants)}, store); err != nil {
		return nil, err
	}
	if !store.has(wanted.Hash) {
		return nil, errRefused
	}
	return c.snapshot(store, wanted)
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
