package source

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// revision is a commit and the branch or tag it was found at. As text it is
// "main@sha1:<40 hex>", or "sha1:<40 hex>" for a commit named by its hash.
type revision struct {
	name string
	hash plumbing.Hash
}

const hashMark = "sha1:"

func (r revision) String() string {
	if r.name == "" {
		return hashMark + r.hash.String()
	}
	return r.name + "@" + hashMark + r.hash.String()
}

// parseRevision reads what String wrote. The last mark counts: a branch may
// have an @ in its name.
func parseRevision(text string) (revision, error) {
	name, hash := "", strings.TrimPrefix(text, hashMark)
	if at := strings.LastIndex(text, "@"+hashMark); at >= 0 {
		name, hash = text[:at], text[at+1+len(hashMark):]
		if name == "" || !plain(name) {
			hash = ""
		}
	} else if hash == text {
		hash = ""
	}
	if checkCommit(hash) != nil {
		return revision{}, failure(ErrInvalid, "revision", quote(text)+` is not "<name>@sha1:<40 hex>"`)
	}
	return revision{name: name, hash: plumbing.NewHash(hash)}, nil
}
