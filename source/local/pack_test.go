package local

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
	"github.com/nodepools/nodepools/testdata/sources"
)

// packEntry is an object as it lies in a pack.
type packEntry struct {
	hash   plumbing.Hash
	kind   plumbing.ObjectType
	size   int           // that is claimed
	ref    plumbing.Hash // of the base of a delta, or
	before int           // the number of the entry that is its base
	data   []byte
}

// writePack writes a pack, whatever it holds, and its index.
func writePack(t *testing.T, r *sources.Repo, entries []packEntry) {
	t.Helper()
	var pack bytes.Buffer
	pack.WriteString("PACK")
	binary.Write(&pack, binary.BigEndian, []uint32{2, uint32(len(entries))}) //nolint:errcheck // a buffer takes all
	index := &idxfile.Writer{}
	offsets := make([]int64, len(entries))
	for i, e := range entries {
		offsets[i] = int64(pack.Len())
		first, rest := byte(e.kind)<<4|byte(e.size&15), e.size>>4
		for rest > 0 {
			pack.WriteByte(first | 0x80)
			first, rest = byte(rest&0x7f), rest>>7
		}
		pack.WriteByte(first)
		switch e.kind {
		case plumbing.REFDeltaObject:
			pack.Write(e.ref[:])
		case plumbing.OFSDeltaObject:
			pack.Write(offsetBytes(offsets[i] - offsets[e.before]))
		}
		zipped, err := zlib.NewWriterLevel(&pack, zlib.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := zipped.Write(e.data); err != nil {
			t.Fatal(err)
		}
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		if err := index.OnInflatedObjectContent(e.hash, offsets[i], 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha1.Sum(pack.Bytes())
	pack.Write(sum[:])
	if err := index.OnFooter(sum); err != nil {
		t.Fatal(err)
	}
	built, err := index.Index()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(r.Dir, ".git/objects/pack", "pack-"+plumbing.Hash(sum).String())
	file, err := os.Create(name + ".idx")
	if err != nil {
		t.Fatal(err)
	}
	_, err = idxfile.NewEncoder(file).Encode(built)
	if err := errors.Join(err, file.Close(), os.WriteFile(name+".pack", pack.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// offsetBytes is the number of bytes back to a base, as a pack has it.
func offsetBytes(distance int64) []byte {
	written := []byte{byte(distance & 0x7f)}
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		written = append([]byte{0x80 | byte(distance&0x7f)}, written...)
	}
	return written
}

// growing is a delta that writes its base of a size many times over, to a size.
func growing(base, size int) []byte {
	number := func(n int) (written []byte) {
		for ; n >= 0x80; n >>= 7 {
			written = append(written, byte(n)|0x80)
		}
		return append(written, byte(n))
	}
	delta := append(number(base), number(size)...)
	for ; size > 0; size -= min(size, base) {
		n := min(size, base)
		delta = append(delta, 0x80|0x70, byte(n), byte(n>>8), byte(n>>16)) // copy n bytes from the beginning
	}
	return delta
}

func TestLocalPacksThatLie(t *testing.T) {
	a := plumbing.ComputeHash(plumbing.BlobObject, []byte("a"))
	other := plumbing.NewHash(strings.Repeat("12", 20))
	small := growing(1, 1)
	chain := []packEntry{{hash: other, kind: plumbing.BlobObject, size: 1, data: []byte("a")}}
	for i := range object.MaxDeltaChain + 1 {
		e := packEntry{kind: plumbing.OFSDeltaObject, before: i, size: len(small), data: small}
		binary.BigEndian.PutUint32(e.hash[:], uint32(i+1))
		chain = append(chain, e)
	}
	chain[len(chain)-1].hash = a
	for name, c := range map[string]struct {
		reason  string
		entries []packEntry
		want    error
	}{
		"as it should be": {"so that the others are found", []packEntry{
			{hash: other, kind: plumbing.BlobObject, size: 1, data: []byte("a")}, {hash: a, kind: plumbing.OFSDeltaObject, size: len(small), data: small},
		}, nil},
		"a delta of itself": {"a circle", []packEntry{{hash: a, kind: plumbing.REFDeltaObject, ref: a, size: len(small), data: small}}, source.ErrUnreadable},
		"two deltas of each other": {"a circle", []packEntry{
			{hash: a, kind: plumbing.REFDeltaObject, ref: other, size: len(small), data: small},
			{hash: other, kind: plumbing.REFDeltaObject, ref: a, size: len(small), data: small},
		}, source.ErrUnreadable},
		"a long chain":      {"longer than git makes them", chain, source.ErrUnreadable},
		"no base":           {"nothing to build on", []packEntry{{hash: a, kind: plumbing.REFDeltaObject, ref: other, size: len(small), data: small}}, source.ErrUnreadable},
		"says too much":     {"nothing is made ready for it", []packEntry{{hash: a, kind: plumbing.BlobObject, size: 3_000_000_000, data: []byte("a")}}, source.ErrTooLarge},
		"more than it says": {"it would fill the memory", []packEntry{{hash: a, kind: plumbing.BlobObject, size: 1, data: make([]byte, 128<<20)}}, source.ErrUnreadable},
		"a base that grows": {"a few bytes that copy a megabyte thousands of times", []packEntry{
			{hash: other, kind: plumbing.BlobObject, size: 1 << 20, data: make([]byte, 1<<20)},
			{hash: a, kind: plumbing.OFSDeltaObject, size: len(growing(1<<20, 3<<30)), data: growing(1<<20, 3<<30)},
		}, source.ErrTooLarge},
		"a kind that there is not": {"neither an object nor a delta", []packEntry{{hash: a, kind: 5, size: 1, data: []byte("a")}}, source.ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			r.Commit(map[string]string{"pools/a.yaml": "a"})
			if err := os.Remove(filepath.Join(r.Dir, ".git/objects", a.String()[:2], a.String()[2:])); err != nil {
				t.Fatal(err)
			}
			writePack(t, r, c.entries)
			err := withinMemory(t, func() error { return localAnswer(t, r.Dir, "main", "pools") })
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			sources.WantError(t, err, c.want)
		})
	}
}
