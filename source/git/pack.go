package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// pack is what a server sent, behind what is kept of an earlier fetch, if anything is: on
// disk, and in memory an index of it.
//
// go-git's object storage is not used for three reasons: it reads every object
// of a pack into memory, however large; it cannot be interrupted while it
// resolves deltas; and it leaves files open when a pack is broken. Its parser alone,
// which has the first of these too, takes 2.2 times as long for 10,000 small files and
// allocates 4 times as much; for one file of 60 MiB it takes 1.4 times as long, and
// allocates 25 MB for 30 kB (BenchmarkPack, which grants it the pack as a file).
type pack struct {
	target  *target
	ctx     context.Context
	file    *os.File
	start   int64 // where in the file the pack begins
	end     int64 // and where it ends, once it was received
	earlier *kept // what comes before it; nil for nothing
	shallow bool  // the server was asked for commits without their history
	partial bool  // the server was asked to leave out large files

	objects map[plumbing.Hash]*packed
	order   []*packed // those of the pack itself, as they lie in it
	pending []*packed // deltas whose hash is not known yet
	skipped bool      // some were too large to resolve

	scanner *packfile.Scanner
	cache   *cache.BufferLRU
}

// packed is one object of the pack. There are many: its size counts.
type packed struct {
	hash   plumbing.Hash // once it is known
	ref    plumbing.Hash // of the base of a delta
	offset int64         // in the file
	size   int64         // of the object, or of the delta while pending
	base   *packed       // of a delta, once it is found
	depth  int32
	kind   plumbing.ObjectType // of the object, once it is known
	isBase bool                // another object is stored as a difference to this one
}

// at finds the object of the pack that lies at an offset.
func (p *pack) at(offset int64) *packed {
	i, found := slices.BinarySearchFunc(p.order, offset, func(o *packed, offset int64) int { return cmp.Compare(o.offset, offset) })
	if !found {
		return nil
	}
	return p.order[i]
}

// newPack opens the file. It has no name from the start, so that not even a
// crash leaves it behind; on systems where an open file keeps its name it goes
// with discard.
func newPack(ctx context.Context, t *target) (*pack, error) {
	file, err := os.CreateTemp(t.TempDir, "nodepools-fetch-")
	if err != nil {
		return nil, t.fail(source.ErrTemporary, "no temporary file can be made")
	}
	_ = os.Remove(file.Name()) // discard tries again
	return packIn(ctx, t, file), nil
}

func packIn(ctx context.Context, t *target, file *os.File) *pack {
	return &pack{
		target:  t,
		ctx:     ctx,
		file:    file,
		objects: map[plumbing.Hash]*packed{},
		cache:   cache.NewBufferLRU(object.DeltaCacheBytes),
	}
}

func (p *pack) discard() { discard(p.file) }

// discard closes a file and removes it: nothing in it is needed any more.
func discard(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}

func (p *pack) has(hash plumbing.Hash) bool { return p.objects[hash] != nil }

// receive writes the pack to disk and indexes it on the way, then resolves the
// deltas.
func (p *pack) receive(from io.Reader) error {
	if _, err := p.file.Seek(p.start, io.SeekStart); err != nil {
		return p.target.fail(source.ErrTemporary, "the temporary file cannot be written")
	}
	// With what is kept, so that the file is bounded.
	bounded := &boundedReader{from: from, left: p.target.limits.packBytes - p.start}
	disk := &diskWriter{file: p.file}
	p.scanner = packfile.NewScanner(io.TeeReader(&contextReader{p.ctx, bounded}, disk))
	err := p.index()
	switch {
	case bounded.exceeded:
		return p.target.fail(source.ErrTooLarge, fmt.Sprintf("the revision takes more than %d bytes to fetch", p.target.limits.packBytes))
	case disk.err != nil:
		return p.target.fail(source.ErrTemporary, "what the server sends cannot be written to a temporary file")
	case err != nil:
		return err
	}
	p.end = p.start + disk.written
	p.scanner = packfile.NewScanner(&contextFile{p.ctx, p.file})
	return p.resolve()
}

// index notes where each object lies. Content passes by and is hashed, none is
// kept.
func (p *pack) index() error {
	_, count, err := p.scanner.Header()
	if err != nil {
		return broken(err)
	}
	if most := p.target.limits.packObjects; int64(count)+int64(len(p.objects)) > int64(most) {
		return p.target.fail(source.ErrTooLarge, fmt.Sprintf("the revision takes more than %d objects to fetch", most))
	}
	for range count {
		header, err := p.scanner.NextObjectHeader()
		if err != nil {
			return broken(err)
		}
		o := &packed{offset: p.start + header.Offset, kind: header.Type, size: header.Length}
		if header.Type.IsDelta() {
			err = p.indexDelta(o, header)
		} else {
			err = p.indexWhole(o)
		}
		if err != nil {
			return err
		}
		p.order = append(p.order, o)
	}
	_, err = p.scanner.Checksum()
	return err
}

func (p *pack) indexWhole(o *packed) error {
	hasher := plumbing.NewHasher(o.kind, o.size)
	n, _, err := p.scanner.NextObject(hasher)
	if err != nil {
		return broken(err)
	}
	if n != o.size {
		return errors.New("an object of another size than it said")
	}
	o.hash = hasher.Sum()
	p.objects[o.hash] = o
	return nil
}

func (p *pack) indexDelta(o *packed, header *packfile.ObjectHeader) error {
	if header.Type == plumbing.OFSDeltaObject {
		if o.base = p.at(p.start + header.OffsetReference); o.base == nil {
			return errors.New("a delta without its base")
		}
		o.base.isBase = true
	}
	o.ref = header.Reference
	o.kind = plumbing.InvalidObject
	p.pending = append(p.pending, o)
	_, _, err := p.scanner.NextObject(io.Discard)
	return err
}

// diskWriter remembers an error of the disk, which must not be taken for one of
// the server.
type diskWriter struct {
	file    *os.File
	written int64
	err     error
}

func (d *diskWriter) Write(b []byte) (int, error) {
	n, err := d.file.Write(b)
	d.written += int64(n)
	d.err = err
	return n, err
}

// contextReader and contextFile stop when the context ends: what reads through
// them may have much to do between two looks at a connection.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (c *contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(b)
}

type contextFile struct {
	ctx  context.Context
	file *os.File
}

func (c *contextFile) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.Read(b)
}

func (c *contextFile) Seek(offset int64, whence int) (int64, error) {
	return c.file.Seek(offset, whence)
}
