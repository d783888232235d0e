package plan

import (
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// shortCommit is by how many digits a record names a commit: as many as git takes in a large
// repository.
const shortCommit = 12

// commitOf is the commit by which a pool says what it says, in short; empty for a pool that
// comes from no repository.
func commitOf(pool *v1.NodePool) string {
	revision := pool.Annotations[v1.RevisionAnnotation] // main@sha1:<40 hex>
	digits := revision[strings.LastIndex(revision, ":")+1:]
	if short := digits[:min(len(digits), shortCommit)]; digits != revision && isShortCommit(short) {
		return short
	}
	return ""
}

func isShortCommit(text string) bool {
	return len(text) == shortCommit && strings.Trim(text, "0123456789abcdef") == ""
}
