package source

import (
	"context"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// objects are those of a repository on this machine, as a store.
type objects struct {
	*Local
	ctx context.Context
}

func (o *objects) commit(hash plumbing.Hash) (*object.Commit, error) {
	encoded, err := o.object(hash, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	commit := &object.Commit{}
	return commit, commit.Decode(encoded)
}

func (o *objects) tree(hash plumbing.Hash) ([]object.TreeEntry, error) {
	encoded, err := o.object(hash, plumbing.TreeObject)
	if err != nil {
		return nil, err
	}
	t := &object.Tree{}
	if err := t.Decode(encoded); err != nil {
		return nil, err
	}
	return t.Entries, nil
}

func (o *objects) size(hash plumbing.Hash) (int64, bool) {
	if size, err := o.storage.EncodedObjectSize(hash); err == nil {
		return size, true
	}
	// What the repository borrows from another one has to be read to be measured.
	encoded, err := o.storage.EncodedObject(plumbing.AnyObject, hash)
	if err != nil {
		return 0, false
	}
	return encoded.Size(), true
}

func (o *objects) read(hash plumbing.Hash, kind plumbing.ObjectType) (data []byte, err error) {
	encoded, err := o.object(hash, kind)
	if err != nil {
		return nil, err
	}
	reader, err := encoded.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}

// lacking: nothing is left out of a repository on this machine for its size.
func (o *objects) lacking(name string) error {
	return o.incomplete("", quote(name)+" is not in this clone")
}

// object reads an object whole, if its size allows that.
func (o *objects) object(hash plumbing.Hash, kind plumbing.ObjectType) (plumbing.EncodedObject, error) {
	if err := o.ctx.Err(); err != nil {
		return nil, err
	}
	if size, _ := o.size(hash); size > maxObjectBytes {
		return nil, failure(ErrTooLarge, "", fmt.Sprintf("%s %s is larger than %d bytes", kind, hash, maxObjectBytes))
	}
	return o.storage.EncodedObject(kind, hash)
}
