package object

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
)

// Revision is a commit and the branch or tag it was found at. As text it is
// "main@sha1:<40 hex>", or "sha1:<40 hex>" for a commit named by its hash.
type Revision struct {
	// Name is empty for a commit named by its hash.
	Name string
	Hash plumbing.Hash
}

const hashMark = "sha1:"

// String is the revision as snapshots and callers have it.
func (r Revision) String() string {
	if r.Name == "" {
		return hashMark + r.Hash.String()
	}
	return r.Name + "@" + hashMark + r.Hash.String()
}

// ParseRevision reads what String wrote. The last mark counts: a branch may
// have an @ in its name.
//
// Errors: source.ErrInvalid.
func ParseRevision(text string) (Revision, error) {
	name, hash := "", strings.TrimPrefix(text, hashMark)
	if at := strings.LastIndex(text, "@"+hashMark); at >= 0 {
		name, hash = text[:at], text[at+1+len(hashMark):]
		if name == "" || !source.ValidPath(name) {
			hash = ""
		}
	} else if hash == text {
		hash = ""
	}
	if !IsCommit(hash) {
		return Revision{}, source.NewError(source.ErrInvalid, "revision", source.Quote(text)+` is not "<name>@sha1:<40 hex>"`)
	}
	return Revision{Name: name, Hash: plumbing.NewHash(hash)}, nil
}

// IsCommit reports whether a text is the full hash of a commit: 40 hex digits in lower
// case, not all of them zero.
func IsCommit(hash string) bool {
	return len(hash) == 40 && IsHex(hash) && !plumbing.NewHash(hash).IsZero()
}
