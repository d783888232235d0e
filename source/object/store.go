// Package object reads Git objects, wherever they lie: what a server has sent and a
// clone on this machine are read by the same rules.
//
// Start with [Snapshot], which reads the folder of a commit out of a [Store]. go-git
// decodes commits, trees and tags; [Patch] undoes delta compression, in bounded memory.
package object

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/nodepools/nodepools/source"
)

// Store is where objects are read from.
type Store interface {
	// Size of an object; false where the store does not have it.
	Size(hash plumbing.Hash) (int64, bool)
	// Read returns an object of a type; the caller may keep it.
	Read(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error)
	// Missing says why the file of that name is not there; nil where it was left
	// out for its size.
	Missing(name string) error
}

// Commit reads a commit.
func Commit(from Store, hash plumbing.Hash) (*object.Commit, error) {
	commit := &object.Commit{}
	return commit, decode(from, hash, plumbing.CommitObject, commit)
}

// Tree reads the entries of a folder.
func Tree(from Store, hash plumbing.Hash) ([]object.TreeEntry, error) {
	tree := &object.Tree{}
	if err := decode(from, hash, plumbing.TreeObject, tree); err != nil {
		return nil, err
	}
	return tree.Entries, nil
}

func decode(from Store, hash plumbing.Hash, kind plumbing.ObjectType, into object.Object) error {
	data, err := from.Read(hash, kind)
	if err != nil {
		return err
	}
	return into.Decode(encoded(kind, data))
}

// encoded is an object in the form that go-git decodes.
func encoded(kind plumbing.ObjectType, data []byte) *plumbing.MemoryObject {
	o := &plumbing.MemoryObject{}
	o.SetType(kind)
	_, _ = o.Write(data) // memory takes all
	return o
}

// TagTarget is what an annotated tag stands for, which may be another tag.
func TagTarget(data []byte) (plumbing.Hash, error) {
	tag := &object.Tag{}
	err := tag.Decode(encoded(plumbing.TagObject, data))
	return tag.Target, err
}

// IsHex reports whether a text is of hex digits in lower case.
func IsHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// UnsupportedSHA256 is the error of a repository whose objects are named by SHA-256.
func UnsupportedSHA256(subject string) *source.Error {
	return source.NewError(source.ErrUnsupported, subject, "the repository uses SHA-256 hashes, which cannot be read yet").
		WithHint("use a repository with SHA-1 hashes (git init --object-format=sha1)")
}
