package git

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/nodepools/nodepools/source/object"
)

// kept is what stays of a fetch for the next one: the objects of a commit, in a file that
// has no name. Behind each pack in it lies an index of the pack, so that in between no
// memory is taken.
type kept struct {
	file    *os.File
	commit  plumbing.Hash
	shallow bool // without the history of the commit
	partial bool // without large files
	skipped bool // objects that are too large to resolve are not in the index
	// indexes are where those lie, in the order of their packs.
	indexes []index
	// missed is how often in a row nothing came of a fetch onto it.
	missed int
	// whole is where the first pack and its index end, and size where all do.
	whole, size int64
}

// index is where the index of a pack lies, and of how many objects it is.
type index struct {
	at    int64
	count int
}

// maxAdditions is how many packs may lie behind the first one.
const maxAdditions = 100

// isFull reports whether so much was added that the whole is better fetched anew.
func (k *kept) isFull() bool {
	return len(k.indexes) > maxAdditions || k.size-k.whole > k.whole/2+1<<20
}

func (k *kept) discard() { discard(k.file) }

// entry is an object in an index.
type entry struct {
	hash, base plumbing.Hash // base is zero for an object that is no delta
	offset     int64
	size       int64
	depth      int32
	kind       plumbing.ObjectType
}

// entrySize is the size of an entry on disk.
const entrySize = 2*20 + 2*8 + 4 + 1

// encode appends the entry to what is written. There are many: nothing is allocated.
func (e entry) encode(to []byte) []byte {
	to = append(append(to, e.hash[:]...), e.base[:]...)
	to = binary.BigEndian.AppendUint64(to, uint64(e.offset))
	to = binary.BigEndian.AppendUint64(to, uint64(e.size))
	to = binary.BigEndian.AppendUint32(to, uint32(e.depth))
	return append(to, byte(e.kind))
}

// decodeEntry reads what encode has written, which is of entrySize.
func decodeEntry(from []byte) (e entry) {
	copy(e.hash[:], from)
	copy(e.base[:], from[20:])
	e.offset = int64(binary.BigEndian.Uint64(from[40:]))
	e.size = int64(binary.BigEndian.Uint64(from[48:]))
	e.depth = int32(binary.BigEndian.Uint32(from[56:]))
	e.kind = plumbing.ObjectType(int8(from[60]))
	return e
}

// keep writes the index of a pack behind it, and returns what there is then.
func (p *pack) keep(commit plumbing.Hash) (*kept, error) {
	k := &kept{file: p.file, commit: commit, shallow: p.shallow, partial: p.partial, skipped: p.skipped}
	if p.earlier != nil {
		k.whole, k.indexes = p.earlier.whole, append(k.indexes, p.earlier.indexes...)
	}
	if _, err := p.file.Seek(p.end, io.SeekStart); err != nil {
		return nil, err
	}
	out, count, buffer := bufio.NewWriter(p.file), 0, make([]byte, 0, entrySize)
	for _, o := range p.order {
		if o.hash.IsZero() || p.objects[o.hash] != o {
			continue
		}
		e := entry{hash: o.hash, offset: o.offset, size: o.size, depth: o.depth, kind: o.kind}
		if o.base != nil {
			e.base = o.base.hash
		}
		if _, err := out.Write(e.encode(buffer)); err != nil {
			return nil, err
		}
		count++
	}
	k.indexes = append(k.indexes, index{p.end, count})
	if k.size = p.end + int64(count)*entrySize; k.whole == 0 {
		k.whole = k.size
	}
	return k, out.Flush()
}

// reopen makes what is kept the beginning of a further pack.
func (t *target) reopen(ctx context.Context, earlier *kept) (*pack, error) {
	p := packIn(ctx, t, earlier.file)
	p.earlier, p.start = earlier, earlier.size
	p.scanner = packfile.NewScanner(&contextFile{ctx, p.file})
	p.partial, p.skipped = earlier.partial, earlier.skipped
	total := 0
	for _, each := range earlier.indexes {
		total += each.count
	}
	p.objects = make(map[plumbing.Hash]*packed, total)
	for _, each := range earlier.indexes {
		if err := p.load(each); err != nil {
			return nil, err
		}
	}
	for _, o := range p.objects {
		if o.ref.IsZero() {
			continue
		}
		if o.base = p.objects[o.ref]; o.base == nil || o.base.depth >= o.depth {
			return nil, errDamaged
		}
		o.base.isBase = true
	}
	return p, nil
}

// errDamaged: what is kept is not what was written.
var errDamaged = errors.New("the temporary file is damaged")

func (p *pack) load(from index) error {
	in := bufio.NewReader(io.NewSectionReader(p.file, from.at, int64(from.count)*entrySize))
	buffer, all := make([]byte, entrySize), make([]packed, from.count)
	for i := range all {
		if _, err := io.ReadFull(in, buffer); err != nil {
			return errDamaged
		}
		e := decodeEntry(buffer)
		if e.depth < 0 || e.depth > object.MaxDeltaChain {
			return errDamaged
		}
		all[i] = packed{hash: e.hash, offset: e.offset, kind: e.kind, size: e.size, ref: e.base, depth: e.depth}
		p.objects[e.hash] = &all[i]
	}
	return nil
}
