package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// commit, tree, size, read and lacking make a pack a store.
func (p *pack) commit(hash plumbing.Hash) (*object.Commit, error) {
	o, err := p.object(hash, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	commit := &object.Commit{}
	return commit, commit.Decode(o)
}

func (p *pack) tree(hash plumbing.Hash) ([]object.TreeEntry, error) {
	o, err := p.object(hash, plumbing.TreeObject)
	if err != nil {
		return nil, err
	}
	t := &object.Tree{}
	if err := t.Decode(o); err != nil {
		return nil, err
	}
	return t.Entries, nil
}

func (p *pack) size(hash plumbing.Hash) (int64, bool) {
	o := p.objects[hash]
	if o == nil {
		return 0, false
	}
	return o.size, true
}

// read returns an object of a type; the caller may keep it.
func (p *pack) read(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	o := p.objects[hash]
	if o == nil || o.kind != kind {
		return nil, fmt.Errorf("the pack has no %s %s", kind, hash)
	}
	data, err := p.content(o)
	if errors.Is(err, errExceeded) {
		return nil, p.target.fail(ErrTooLarge, fmt.Sprintf("%s %s is larger than %d bytes", kind, hash, maxObjectBytes))
	}
	return bytes.Clone(data), err
}

func (p *pack) lacking(name string) error {
	if p.partial || p.skipped {
		return nil
	}
	return p.target.fail(ErrServer, "the server left out "+quote(name))
}

func (p *pack) object(hash plumbing.Hash, kind plumbing.ObjectType) (plumbing.EncodedObject, error) {
	data, err := p.read(hash, kind)
	if err != nil {
		return nil, err
	}
	o := &plumbing.MemoryObject{}
	o.SetType(kind)
	if _, err := io.Copy(o, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return o, nil
}
