package poolfile

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
)

// Limits are the constants above in a form that a test can make small.
type Limits struct {
	Names      int
	Entries    int
	FileBytes  int64
	TotalBytes int64
	Depth      int
}

// DefaultLimits are the constants above.
func DefaultLimits() Limits {
	return Limits{
		Names:      MaxNames,
		Entries:    MaxEntries,
		FileBytes:  MaxFileBytes,
		TotalBytes: MaxTotalBytes,
		Depth:      MaxFolderDepth,
	}
}
