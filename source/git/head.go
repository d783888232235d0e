package git

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source/object"
)

// Head asks which revision the ref stands at. It costs one listing of refs and fetches
// nothing. A Ref that names a commit is its own answer and costs nothing at all.
//
// Over http that is one request; two to a server of version 2 of the protocol, where
// Repository.Cache does not know it.
//
// The revision is "main@sha1:<40 hex>", with the name of the branch or tag, or
// "sha1:<40 hex>" for a commit.
//
// Errors: source.ErrInvalid, source.ErrRefMissing, source.ErrEmptyRepository, and those
// of the connection.
func (r *Repository) Head(ctx context.Context) (string, error) {
	t, err := r.check()
	if err != nil {
		return "", err
	}
	if t.Ref.Commit != "" {
		return t.named().String(), nil
	}
	ctx, cancel := r.within(ctx)
	defer cancel()

	c, err := t.resume(ctx, t.ofRef(plumbing.ZeroHash))
	if err != nil {
		return "", t.explain(ctx, err)
	}
	defer c.close()
	found, err := c.head()
	if err != nil {
		return "", t.explain(ctx, err)
	}
	return found.String(), nil
}

// named is the revision of a ref that names a commit.
func (t *target) named() object.Revision {
	return object.Revision{Hash: plumbing.NewHash(t.Ref.Commit)}
}
