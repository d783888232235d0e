package git

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// Head asks which revision the ref stands at. It costs one listing of refs (over
// http one request) and fetches nothing. A Ref that names a commit is its own
// answer and costs nothing at all.
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
		return object.Revision{Hash: plumbing.NewHash(t.Ref.Commit)}.String(), nil
	}
	ctx, cancel := r.within(ctx)
	defer cancel()

	found, err := t.list(ctx)
	if err != nil {
		return "", t.explain(ctx, err)
	}
	if found.Hash.IsZero() {
		return "", t.fail(source.ErrRefMissing, "there is no "+t.Ref.String())
	}
	return found.String(), nil
}

// list opens a connection, reads the refs and hangs up.
func (t *target) list(ctx context.Context) (found object.Revision, err error) {
	server, err := t.dial(ctx)
	if err != nil {
		return object.Revision{}, err
	}
	defer server.close()
	refs, err := t.refs(server, func(name string, _ plumbing.Hash) bool { return t.Ref.wants(name) })
	if err != nil {
		return object.Revision{}, err
	}
	return t.Ref.resolve(refs), nil
}
