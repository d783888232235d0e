package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// staged is a file of the index: what git has of a file of the working tree.
type staged struct {
	name string // from the root of the repository
	mode filemode.FileMode
	hash plumbing.Hash
	// size and when the file changed, as git has written them down.
	size, seconds, nanoseconds uint32
	// hidden: git does not look at the file, or leaves it out of the working tree.
	hidden bool
	// unmerged: git has several of it, and the working tree the one to be.
	unmerged bool
}

// readIndex reads the entries that may stand for pools of a folder, and those that the
// folder would be below. A repository without an index has none.
//
// go-git's decoder is not used: it does not have the bit that hides a file, and
// version 4 lets a small file stand for names of any length.
func readIndex(file, folder string, most int) ([]staged, error) {
	data, err := readRegular(file, maxListBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadableFile(err)
	}
	r := &indexReader{data: data}
	entries, err := r.entries(folder, most)
	if err == nil {
		err = r.extensions()
	}
	if _, ours := errors.AsType[*source.Error](err); ours || err == nil {
		return entries, err
	}
	return nil, source.NewError(source.ErrUnreadable, "index of the working tree", "cannot be read: "+err.Error()).
		WithHint("'git fsck' says what is wrong; without the file .git/index, 'git reset' makes a new one")
}

type indexReader struct {
	data []byte
	at   int
}

var errIndexEnds = errors.New("it is cut off")

func (r *indexReader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.data)-r.at {
		return nil, errIndexEnds
	}
	r.at += n
	return r.data[r.at-n : r.at], nil
}

const (
	// https://git-scm.com/docs/index-format
	indexEntryBytes   = 62
	indexAssumeValid  = 0x8000
	indexExtended     = 0x4000
	indexStage        = 0x3000
	indexSkipWorktree = 0x4000 // of the extended flags
	// maxIndexName bounds a path; Linux allows 4,096 bytes.
	maxIndexName = 4096
)

func (r *indexReader) entries(folder string, most int) ([]staged, error) {
	header, err := r.take(12)
	if err != nil {
		return nil, err
	}
	version, count := binary.BigEndian.Uint32(header[4:]), binary.BigEndian.Uint32(header[8:])
	if string(header[:4]) != "DIRC" || version < 2 || version > 4 {
		return nil, errors.New("it is none of version 2, 3 or 4")
	}
	var within []staged
	var name []byte
	for range count {
		start := r.at
		fixed, err := r.take(indexEntryBytes)
		if err != nil {
			return nil, err
		}
		number := func(at int) uint32 { return binary.BigEndian.Uint32(fixed[at:]) }
		flags := binary.BigEndian.Uint16(fixed[60:])
		e := staged{
			mode: filemode.FileMode(number(24)), hash: plumbing.Hash(fixed[40:60]),
			size: number(36), seconds: number(8), nanoseconds: number(12),
			hidden: flags&indexAssumeValid != 0, unmerged: flags&indexStage != 0,
		}
		if flags&indexExtended != 0 && version > 2 {
			extended, err := r.take(2)
			if err != nil {
				return nil, err
			}
			e.hidden = e.hidden || binary.BigEndian.Uint16(extended)&indexSkipWorktree != 0
		}
		if name, err = r.name(version, start, name); err != nil {
			return nil, err
		}
		if e.name = string(name); !concerns(e, folder) {
			continue
		}
		if within = append(within, e); len(within) > most {
			return nil, source.NewError(source.ErrTooLarge, "index of the working tree", fmt.Sprintf("the folder %s has more than %d pool files", source.Quote(folder), most))
		}
	}
	return within, nil
}

// name reads the name of the entry that starts at an offset.
func (r *indexReader) name(version uint32, start int, before []byte) ([]byte, error) {
	kept := 0
	if version == 4 {
		strip, err := r.number()
		if err != nil || strip > len(before) {
			return nil, errors.New("a name in it is wrong")
		}
		kept = len(before) - strip
	}
	length := bytes.IndexByte(r.data[r.at:], 0)
	if length < 0 {
		return nil, errIndexEnds
	}
	if kept+length > maxIndexName {
		return nil, fmt.Errorf("a name in it is longer than %d bytes", maxIndexName)
	}
	name := append(bytes.Clone(before[:kept]), r.data[r.at:r.at+length]...)
	r.at += length + 1
	if version < 4 {
		r.at = start + (r.at-1-start+8)&^7
	}
	if r.at > len(r.data) {
		return nil, errIndexEnds
	}
	return name, nil
}

// number reads a number of variable width, as offsets in packs are written.
func (r *indexReader) number() (int, error) {
	n := -1
	for {
		b, err := r.take(1)
		if err != nil || n > maxListBytes {
			return 0, errIndexEnds
		}
		if n = (n+1)<<7 | int(b[0]&0x7f); b[0]&0x80 == 0 {
			return n, nil
		}
	}
}

// extensions refuses an index that does not have all of its entries.
func (r *indexReader) extensions() error {
	for len(r.data)-r.at > 20+8 {
		header, err := r.take(8)
		if err != nil {
			return err
		}
		switch name := string(header[:4]); {
		case name == "link":
			return source.NewError(source.ErrUnsupported, "index of the working tree", "is split into two files").WithHint("put it together: git update-index --no-split-index")
		case name != "sdir" && (name[0] < 'A' || name[0] > 'Z'):
			return source.NewError(source.ErrUnsupported, "index of the working tree", "has the extension "+source.Quote(name)+", which is not known")
		}
		if _, err := r.take(int(binary.BigEndian.Uint32(header[4:]))); err != nil {
			return err
		}
	}
	return nil
}

// concerns reports whether an entry may stand for pools of a folder: it is at the folder,
// or the folder would be below it, or it is a pool file, a submodule or a folder below.
func concerns(e staged, folder string) bool {
	name, below := inFolder(e.name, folder)
	if !below {
		return name == folder || strings.HasPrefix(folder+"/", strings.TrimSuffix(name, "/")+"/")
	}
	return !poolfile.BelowHidden(name) && (poolfile.Is(name) || e.mode == filemode.Submodule || strings.HasSuffix(name, "/"))
}
