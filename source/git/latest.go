package git

import (
	"context"
	"errors"

	"github.com/nodepools/nodepools/source"
)

// maxMoves is how often a ref may move while it is being read. More than that is
// left for the next attempt.
const maxMoves = 3

// Latest brings the revision that the ref stands at: [Repository.Head], then
// [Repository.Fetch], and both again where the ref has moved in between. There is no
// snapshot, and no fetch, where that is the revision that is known already; "" is none.
//
// With an error, the revision says whose it is; it is empty where that of Head is
// the error.
func (r *Repository) Latest(ctx context.Context, known string) (revision string, snapshot *source.Snapshot, err error) {
	for try := 1; ; try++ {
		revision, err = r.Head(ctx)
		if err != nil || revision == known {
			return revision, nil, err
		}
		snapshot, err = r.Fetch(ctx, revision)
		if try == maxMoves || !errors.Is(err, source.ErrMoved) {
			return revision, snapshot, err
		}
	}
}
