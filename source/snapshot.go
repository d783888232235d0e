package source

import "io/fs"

// Snapshot is one revision of the pool files, whole and read-only. It lies in
// memory: nothing has to be closed, and it may be kept and shared.
type Snapshot struct {
	// Revision says which one: in Git "main@sha1:<40 hex>" for a branch or a tag,
	// "sha1:<40 hex>" for a commit named by its hash. It is empty for a directory,
	// which has none. Callers compare and print it, and need not read it.
	Revision string

	// TreeHash is Git's hash of the folder that was read, 40 hex digits. Two
	// snapshots with one TreeHash hold the same names, modes and bytes, so a
	// commit that touches other folders only is known to change no pool. It is
	// empty for a directory.
	TreeHash string

	// Untracked are the YAML files that Git does not track, by their names in Files.
	// Only those of a working tree can be.
	Untracked []string

	// Files is rooted at the folder that was read. It has pool files and folders
	// only, in the order of their names, and no times. Names are valid UTF-8
	// without control characters, and none begins with a dot.
	Files fs.FS
}
