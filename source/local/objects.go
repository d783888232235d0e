package local

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// objectFiles are the objects of a repository on this machine, wherever it keeps them.
type objectFiles struct {
	folders []string
	packs   []*localPack // nil until they are needed
	listed  bool
	// cache has what was read from packs, so that deltas with one base do not read it
	// each time. It is emptied when it is full.
	cache      map[packedAt]*content
	cacheBytes int
	// work is what was inflated and copied.
	work int64
}

type packedAt struct {
	pack   *localPack
	offset int64
}

// maxWorkBytes bounds what is inflated and copied in all: some seconds. A few megabytes
// can be made to stand for far more.
const maxWorkBytes = 16 << 30

// load reads an object, and checks that it is the one that its name says.
//
// Errors: plumbing.ErrObjectNotFound, object.ErrTooLarge.
func (f *objectFiles) load(ctx context.Context, hash plumbing.Hash) (*content, error) {
	found, err := f.find(ctx, hash)
	if err != nil {
		return nil, err
	}
	if plumbing.ComputeHash(found.kind, found.data) != hash {
		return nil, source.NewError(source.ErrUnreadable, "", fmt.Sprintf("object %s of the repository has another content than its name says", hash)).
			WithHint("make a new clone; 'git fsck' says what is wrong with this one")
	}
	return found, nil
}

func (f *objectFiles) find(ctx context.Context, hash plumbing.Hash) (*content, error) {
	spend := func(bytes int) error {
		if f.work += int64(bytes); f.work > maxWorkBytes {
			return source.NewError(source.ErrTooLarge, "", fmt.Sprintf("reading the repository takes more than %d bytes to inflate", int64(maxWorkBytes)))
		}
		return ctx.Err()
	}
	for _, folder := range f.folders {
		found, err := readLoose(folder, hash)
		if err == nil {
			return found, spend(len(found.data))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := f.list(); err != nil {
		return nil, err
	}
	for _, pack := range f.packs {
		offset, there := pack.offset(hash)
		if !there {
			continue
		}
		known := func(offset int64) *content { return f.cache[packedAt{pack, offset}] }
		found, err := pack.read(offset, known, spend)
		if err == nil {
			f.keep(packedAt{pack, offset}, found)
		}
		return found, err
	}
	return nil, plumbing.ErrObjectNotFound
}

func (f *objectFiles) list() error {
	for _, folder := range f.folders {
		if f.listed {
			break
		}
		packs, err := openPacks(folder)
		if err != nil {
			return err
		}
		f.packs = append(f.packs, packs...)
	}
	f.listed = true
	return nil
}

func (f *objectFiles) keep(at packedAt, c *content) {
	if f.cacheBytes += len(c.data); f.cacheBytes > object.DeltaCacheBytes || f.cache == nil {
		f.cache, f.cacheBytes = map[packedAt]*content{}, len(c.data)
	}
	f.cache[at] = c
}

// withPrefix returns the objects whose hashes begin like this, with at least two digits.
func (f *objectFiles) withPrefix(prefix string) ([]plumbing.Hash, error) {
	var found []plumbing.Hash
	for _, folder := range f.folders {
		entries, err := readFolder(filepath.Join(folder, prefix[:2]))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, unreadableFile(err)
		}
		for _, entry := range entries {
			name := prefix[:2] + entry.Name()
			if _, err := hex.DecodeString(name); err == nil && len(name) == 40 && strings.HasPrefix(name, prefix) {
				found = append(found, plumbing.NewHash(name))
			}
		}
	}
	if err := f.list(); err != nil {
		return nil, err
	}
	for _, pack := range f.packs {
		entries, err := pack.index.Entries()
		for err == nil {
			entry, end := entries.Next()
			if end != nil {
				break
			}
			if strings.HasPrefix(entry.Hash.String(), prefix) {
				found = append(found, entry.Hash)
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

// Size is one more than the limit for what is larger: how large it is takes reading
// it, as an object may say what it likes.
func (o *objects) Size(hash plumbing.Hash) (int64, bool) {
	found, err := o.files.load(o.ctx, hash)
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
	found, err := o.files.load(o.ctx, hash)
	if errors.Is(err, object.ErrTooLarge) {
		return nil, source.NewError(source.ErrTooLarge, "", fmt.Sprintf("%s %s is larger than %d bytes", kind, hash, object.MaxBytes))
	}
	if err == nil && kind != plumbing.AnyObject && found.kind != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return found, err
}
