package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// localPack is a pack of a repository on this machine, and its index in memory.
//
// go-git's Packfile is not used: it follows chains of deltas by recursion, without an
// end where a delta is its own base, and reads a base whatever its size.
type localPack struct {
	name  string // of the file with the objects
	index *idxfile.MemoryIndex
}

// maxPacks bounds the packs of one repository; git repacks when there are 50.
const maxPacks = 10_000

// openPacks reads the indexes of all packs in a folder of objects.
func openPacks(folder string) ([]*localPack, error) {
	folder = filepath.Join(folder, "pack")
	entries, err := readFolder(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadableFile(err)
	}
	var packs []*localPack
	left := int64(maxPackIndexBytes)
	for _, entry := range entries {
		base, isPack := strings.CutSuffix(entry.Name(), ".pack")
		if !isPack || !strings.HasPrefix(base, "pack-") {
			continue
		}
		name := filepath.Join(folder, base)
		pack := &localPack{name: name + ".pack", index: idxfile.NewMemoryIndex()}
		switch size, err := pack.readIndex(name+".idx", left); {
		case errors.Is(err, fs.ErrNotExist):
			continue // git writes the index last: without it the pack does not count
		case err != nil:
			return nil, unreadableFile(err)
		default:
			left -= size
		}
		if packs = append(packs, pack); len(packs) > maxPacks {
			return nil, source.NewError(source.ErrTooLarge, "", fmt.Sprintf("the repository has more than %d packs", maxPacks)).WithHint("git gc makes one of them")
		}
	}
	return packs, nil
}

func (p *localPack) readIndex(name string, most int64) (size int64, err error) {
	file, err := openRegular(name, most)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if err := idxfile.NewDecoder(file).Decode(p.index); err != nil {
		return 0, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return info.Size(), nil
}

// offset is where an object lies in the pack, and false where it is not in it.
func (p *localPack) offset(hash plumbing.Hash) (int64, bool) {
	offset, err := p.index.FindOffset(hash)
	return offset, err == nil
}

const (
	// maxDeltaBytes bounds the deltas of one object together: they are in memory at
	// the same time.
	maxDeltaBytes = 4 * object.MaxBytes
	// maxChainBytes bounds what undoing these deltas may write: a delta of a few bytes
	// can copy its base many times over.
	maxChainBytes = 64 * object.MaxBytes
)

// read returns what lies at an offset. spend is asked before each piece of work, and
// cached knows what was read before.
//
// Errors: object.ErrTooLarge, and that of spend.
func (p *localPack) read(offset int64, known func(int64) *content, spend func(int) error) (c *content, err error) {
	file, err := os.OpenFile(p.name, readOnly, 0)
	if err != nil {
		return nil, unreadableFile(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, unreadableFile(&fs.PathError{Path: p.name, Err: errNotRegular})
	}
	deltas, base, err := p.chain(file, offset, known, spend)
	if err != nil {
		return nil, err
	}
	written, data := 0, base.data
	for i := len(deltas) - 1; i >= 0; i-- {
		if data, err = object.Patch(data, deltas[i]); err != nil {
			return nil, err
		}
		if written += len(data); written > maxChainBytes {
			return nil, object.ErrTooLarge
		}
		if err := spend(len(data)); err != nil {
			return nil, err
		}
	}
	return &content{base.kind, data}, nil
}

// chain reads the deltas from an object to the one that is stored whole.
func (p *localPack) chain(file io.ReadSeeker, offset int64, known func(int64) *content, spend func(int) error) (deltas [][]byte, base *content, err error) {
	scanner := packfile.NewScanner(file)
	total := 0
	for range object.MaxDeltaChain + 1 {
		if c := known(offset); c != nil {
			return deltas, c, nil
		}
		header, err := scanner.SeekObjectHeader(offset)
		if err != nil {
			return nil, nil, err
		}
		if header.Length > object.MaxBytes {
			return nil, nil, object.ErrTooLarge
		}
		if total += int(header.Length); total > maxDeltaBytes {
			return nil, nil, object.ErrTooLarge
		}
		if err := spend(int(header.Length)); err != nil {
			return nil, nil, err
		}
		var data bytes.Buffer // it grows with what there is, not with what is claimed
		if _, _, err := scanner.NextObject(&data); err != nil {
			return nil, nil, err
		}
		if int64(data.Len()) != header.Length {
			return nil, nil, errors.New("an object of another size than it said")
		}
		switch header.Type {
		case plumbing.OFSDeltaObject:
			offset = header.OffsetReference
		case plumbing.REFDeltaObject:
			there := false
			if offset, there = p.offset(header.Reference); !there {
				return nil, nil, errors.New("a delta without its base")
			}
		case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
			return deltas, &content{header.Type, data.Bytes()}, nil
		default:
			return nil, nil, errors.New("an object of a kind that is not known")
		}
		deltas = append(deltas, data.Bytes())
	}
	return nil, nil, errors.New("a chain of deltas without end")
}
