package v1

import "strings"

// ShortRevision is a revision with the first digits of its hash: main@1a2b3c4d for
// main@sha1:1a2b3c4d…
func ShortRevision(revision string) string {
	const digits = 8
	ref, hash, found := strings.Cut(revision, "sha1:")
	if !found || len(hash) <= digits {
		return revision
	}
	return ref + hash[:digits]
}
