package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
)

// maxMoves is how often a ref may move while it is being read. More than that is
// left for the next attempt.
const maxMoves = 3

// Latest brings the revision that the ref stands at, as [Repository.Head] and then
// [Repository.Fetch] do, in one conversation with the server; and again where the ref has
// moved in between. There is no snapshot, and no fetch, where that is the revision that is
// known already; "" is none. Each attempt ends within Repository.Timeout.
//
// With an error, the revision says whose it is; it is empty where that of Head is
// the error.
func (r *Repository) Latest(ctx context.Context, known string) (revision string, snapshot *source.Snapshot, err error) {
	for try := 1; ; try++ {
		revision, snapshot, err = r.latest(ctx, known)
		if try == maxMoves || !errors.Is(err, source.ErrMoved) {
			return revision, snapshot, err
		}
	}
}

func (r *Repository) latest(ctx context.Context, known string) (revision string, snapshot *source.Snapshot, err error) {
	t, err := r.check()
	if err != nil {
		return "", nil, err
	}
	if t.Ref.Commit != "" {
		if revision = t.named().String(); revision == known {
			return revision, nil, nil
		}
		snapshot, err = r.Fetch(ctx, revision)
		return revision, snapshot, err
	}
	ctx, cancel := r.within(ctx)
	defer cancel()

	c, err := t.resume(ctx, t.ofRef(plumbing.ZeroHash))
	if err != nil {
		return "", nil, t.explain(ctx, err)
	}
	defer c.close()
	found, err := c.head()
	if err != nil {
		return "", nil, t.explain(ctx, err)
	}
	if revision = found.String(); revision == known {
		return revision, nil, nil
	}
	if snapshot, err = c.fetch(found); err != nil {
		return revision, nil, t.explain(ctx, err)
	}
	return revision, snapshot, nil
}
