package source

import "context"

// Repository is somewhere that pools are followed: what every kind of source
// implements for those who poll it.
type Repository interface {
	// Latest returns the revision that is there now, with its pool files. There is no
	// snapshot, and little is transferred, where that is the revision that is known
	// already; "" is none.
	//
	// With an error, the revision says whose it is; it is empty where the revision
	// itself could not be found out.
	Latest(ctx context.Context, known string) (revision string, snapshot *Snapshot, err error)
}
