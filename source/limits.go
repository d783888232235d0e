package source

import "time"

// What one snapshot may be. They bound the memory of the process, so that one
// repository cannot take the controller down. A pool file has a few kilobytes;
// every limit is far above what pools need.
const (
	// MaxEntries bounds the pool files and folders below the path, together.
	MaxEntries = 20_000
	// MaxFileBytes bounds one pool file: 1 MiB. Where the server can leave out larger
	// files of any kind, they are not sent.
	MaxFileBytes = 1 << 20
	// MaxTotalBytes bounds all pool files below the path together: 64 MiB.
	MaxTotalBytes = 64 << 20
	// MaxNames bounds the names below the path, of whatever is there. What is no pool
	// file and no folder counts towards no other limit.
	MaxNames = 1_000_000
	// MaxFolderDepth bounds how deep folders lie below the path.
	MaxFolderDepth = 64

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

	// DefaultTimeout bounds one Head or one Fetch when Git.Timeout is zero.
	DefaultTimeout = time.Minute
)

const (
	// maxObjectBytes bounds a folder listing, a commit, and every object that
	// has to be in memory to undo delta compression.
	maxObjectBytes = 16 << 20
	// deltaCacheBytes is what undoing delta compression may keep at hand.
	deltaCacheBytes = 32 << 20
	// maxDeltaChain is the longest chain of deltas that Git itself writes.
	maxDeltaChain = 4095
	// maxLinkBytes bounds the target of a symbolic link, and maxLinks how many lead to
	// one another, as Linux does.
	maxLinkBytes = 4096
	maxLinks     = 40
)

// limits are the constants above in a form that a test can make small.
type limits struct {
	names         int
	entries       int
	fileBytes     int64
	totalBytes    int64
	depth         int
	packBytes     int64
	packObjects   uint32
	advertisement int64
}

func defaultLimits() limits {
	return limits{
		names:         MaxNames,
		entries:       MaxEntries,
		fileBytes:     MaxFileBytes,
		totalBytes:    MaxTotalBytes,
		depth:         MaxFolderDepth,
		packBytes:     MaxPackBytes,
		packObjects:   MaxPackObjects,
		advertisement: MaxAdvertisementBytes,
	}
}
