package git

import (
	"time"

	"github.com/nodepools/nodepools/source/poolfile"
)

// What one fetch may be. What one snapshot may be is bounded by package poolfile.
const (
	// MaxPackBytes bounds what a server may send in one fetch, as it is sent,
	// compressed: 512 MiB. It goes to a temporary file, not to memory.
	MaxPackBytes = 512 << 20
	// MaxPackObjects bounds the files, folders and commits of one fetch. Each
	// takes some 200 bytes of memory until the fetch is done, however few it has
	// on the way.
	MaxPackObjects = 1_000_000
	// MaxAdvertisementBytes bounds a server's list of refs: 64 MiB, about half
	// a million refs. Only the refs that are asked for stay in memory.
	MaxAdvertisementBytes = 64 << 20

	// MaxKeptBytes and MaxKeptFiles bound what all repositories of [Caches] keep on disk
	// between two fetches, and MaxKeptOfOne what one does: 512 and 128 MiB, and one file
	// each. What does not fit is fetched whole each time.
	MaxKeptBytes = 512 << 20
	MaxKeptFiles = 256
	MaxKeptOfOne = 128 << 20

	// DefaultTimeout bounds one Head, Fetch or attempt of Latest when Repository.Timeout is zero.
	DefaultTimeout = time.Minute
)

// limits are those of a snapshot, and the constants above in a form that a test can
// make small.
type limits struct {
	poolfile.Limits
	packBytes     int64
	packObjects   uint32
	advertisement int64
}

func defaultLimits() limits {
	return limits{
		Limits:        poolfile.DefaultLimits(),
		packBytes:     MaxPackBytes,
		packObjects:   MaxPackObjects,
		advertisement: MaxAdvertisementBytes,
	}
}
