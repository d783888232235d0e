package local

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// objectFiles are the objects of a repository on this machine, wherever it keeps them. go-git
// reads those in packs. It opens the indexes of an alternate anew for each object, so each
// folder has a storage of its own.
//
// [git.PlainOpenWithOptions] is not used: it refuses repositories with the extension
// worktreeconfig, and alternates whose paths are relative.
type objectFiles []objectFolder

type objectFolder struct {
	path  string
	packs *filesystem.Storage
}

func objectFilesOf(folders []string) (objectFiles, error) {
	var files objectFiles
	shared := cache.NewObjectLRU(object.DeltaCacheBytes)
	for _, folder := range folders {
		if filepath.Base(folder) != "objects" {
			return nil, source.NewError(source.ErrUnsupported, "", "the repository borrows objects from "+source.Quote(folder)+", which is no folder named objects")
		}
		packs := filesystem.NewStorageWithOptions(&guardedFiles{Filesystem: osfs.New(filepath.Dir(folder))}, shared, filesystem.Options{ExclusiveAccess: true})
		files = append(files, objectFolder{folder, packs})
	}
	return files, nil
}

// load reads an object, and checks that it is the one that its name says.
//
// Errors: plumbing.ErrObjectNotFound, object.ErrTooLarge.
func (f objectFiles) load(hash plumbing.Hash) (*content, error) {
	for _, folder := range f {
		found, err := readLoose(folder.path, hash)
		if errors.Is(err, fs.ErrNotExist) {
			found, err = readPacked(folder.packs, hash)
		}
		switch {
		case errors.Is(err, plumbing.ErrObjectNotFound):
			continue
		case err != nil:
			return nil, err
		case plumbing.ComputeHash(found.kind, found.data) != hash:
			return nil, source.NewError(source.ErrUnreadable, "", fmt.Sprintf("object %s of the repository has another content than its name says", hash)).
				WithHint("make a new clone; 'git fsck' says what is wrong with this one")
		}
		return found, nil
	}
	return nil, plumbing.ErrObjectNotFound
}

// readPacked reads an object of a pack.
//
// Errors: plumbing.ErrObjectNotFound, object.ErrTooLarge.
func readPacked(packs *filesystem.Storage, hash plumbing.Hash) (c *content, err error) {
	size, err := packs.EncodedObjectSize(hash)
	if err != nil {
		return nil, err
	}
	if size > object.MaxBytes {
		return nil, object.ErrTooLarge
	}
	found, err := packs.ObjectStorage.EncodedObject(plumbing.AnyObject, hash)
	if err != nil {
		return nil, err
	}
	reader, err := found.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	data, err := io.ReadAll(reader)
	return &content{found.Type(), data}, err
}

// withPrefix returns the objects whose hashes begin like this, with at least two digits.
func (f objectFiles) withPrefix(prefix string) ([]plumbing.Hash, error) {
	whole, err := hex.DecodeString(prefix[:len(prefix)&^1])
	if err != nil {
		return nil, err
	}
	var found []plumbing.Hash
	for _, folder := range f {
		hashes, err := folder.packs.HashesWithPrefix(whole)
		if err != nil {
			return nil, unreadableFile(err)
		}
		for _, hash := range hashes {
			if strings.HasPrefix(hash.String(), prefix) {
				found = append(found, hash)
			}
		}
	}
	return found, nil
}

var _ object.Store = (*objects)(nil)

// objects are those of a repository on this machine, as a store.
type objects struct {
	*Repository
	ctx context.Context
}

// Size is one more than the limit for what is larger.
func (o *objects) Size(hash plumbing.Hash) (int64, bool) {
	found, err := o.files.load(hash)
	switch {
	case errors.Is(err, object.ErrTooLarge):
		return object.MaxBytes + 1, true
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return 0, false
	case err != nil:
		return 0, true // Read says what is wrong
	}
	return int64(len(found.data)), true
}

func (o *objects) Read(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	found, err := o.load(hash, kind)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(found.data), nil
}

// Missing: nothing is left out of a repository on this machine for its size.
func (o *objects) Missing(name string) error {
	return o.incomplete("", source.Quote(name)+" is not in this clone")
}

// load reads an object of a kind whole, if its size allows that.
func (o *objects) load(hash plumbing.Hash, kind plumbing.ObjectType) (*content, error) {
	if err := o.ctx.Err(); err != nil {
		return nil, err
	}
	found, err := o.files.load(hash)
	if errors.Is(err, object.ErrTooLarge) {
		return nil, source.NewError(source.ErrTooLarge, "", fmt.Sprintf("%s %s is larger than %d bytes", kind, hash, object.MaxBytes))
	}
	if err == nil && kind != plumbing.AnyObject && found.kind != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return found, err
}
