package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source/object"
)

// FuzzPack reads what a server may send: no panic, whatever it is, and nothing
// that is not what its hash says.
func FuzzPack(f *testing.F) {
	r, _ := deltas(f)
	f.Add([]byte(r.Feed("HEAD\n", "pack-objects", "--revs", "--stdout", "-q")))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	t := &target{Repository: &Repository{}, limits: defaultLimits()}
	f.Fuzz(func(test *testing.T, data []byte) {
		p, err := newPack(test.Context(), t)
		if err != nil {
			test.Fatal(err)
		}
		defer p.discard()
		_ = p.receive(bytes.NewReader(data))
		p.isWhatItsHashesSay(test)
	})
}

func (p *pack) isWhatItsHashesSay(t *testing.T) {
	t.Helper()
	for hash, o := range p.objects {
		data, err := p.Read(hash, o.kind)
		if err == nil && plumbing.ComputeHash(o.kind, data) != hash {
			t.Errorf("the content of %s is of another hash", hash)
		}
		if err == nil && int64(len(data)) != o.size {
			t.Errorf("the content of %s has %d bytes, not %d", hash, len(data), o.size)
		}
		_, _ = object.Tree(p, hash)
		_, _ = object.Commit(p, hash)
	}
}

// FuzzPackObjects makes well-formed packs of any objects and any deltas, so that
// what is wrong is not the first byte: what comes out is what a plain reading of
// the format gives, and a pack in which nothing is wrong is not refused.
func FuzzPackObjects(f *testing.F) {
	f.Add([]byte("\x00\x04aaaa\x01\x04bbbb"))
	f.Add([]byte("\x00\x08aaaabbbb\x02\x00\x06\x08\x04\x90\x04\x04xyz"))
	f.Add([]byte("\x03\x01\x05\x04\x02\x02aa\x00\x04aaaa\x03\x00\x03\x04\x01\x90\x01"))
	f.Add([]byte("\x00\x04aaaa\x02\x00\x0a\x04\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x00\x04aaaa\x02\x00\x06\x04\xff\xff\xff\x7f\x00\x02\x01\x06\x04\x04\x90\x04\x90\x00"))
	f.Add([]byte("\x00\x04aaaa\x02\x00\x02\x04\x00"))
	f.Add([]byte("\x00\x04aaaa\x02\x00\x02\x04\x80"))
	f.Add([]byte("\x00\x04aaaa\x02\x00\x06\x04\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x02\x00\x04\x00\x01\x01z"))
	f.Add([]byte("\x00\x00\x02\x00\x0b" + strings.Repeat("\xac", 10) + "0"))
	t := &target{Repository: &Repository{}, limits: defaultLimits()}
	f.Fuzz(func(test *testing.T, program []byte) {
		objects := parseProgram(program)
		p, err := newPack(test.Context(), t)
		if err != nil {
			test.Fatal(err)
		}
		defer p.discard()
		resolveNaively(objects)
		err = p.receive(bytes.NewReader(encodePack(objects)))
		want, wrong := map[string]string{}, false
		for _, o := range objects {
			wrong = wrong || o.wrong
			if o.known {
				want[plumbing.ComputeHash(o.kind, o.content).String()] = o.kind.String() + " " + string(o.content)
			}
		}
		if (err != nil) != wrong {
			test.Fatalf("error %v, and something is wrong: %v\n%+v", err, wrong, objects)
		}
		if err != nil {
			return
		}
		got := map[string]string{}
		for hash, o := range p.objects {
			data, err := p.Read(hash, o.kind)
			if err != nil {
				test.Errorf("read %s: %v", hash, err)
			}
			got[hash.String()] = o.kind.String() + " " + string(data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			test.Errorf("objects (-by the format +read):\n%s", diff)
		}
		p.isWhatItsHashesSay(test)
	})
}

// packable is an object to be put into a pack.
type packable struct {
	kind  plumbing.ObjectType // of the object; of a delta once it is known
	base  int                 // index of the base of a delta
	byRef bool                // named by hash, and not by place
	delta []byte              // nil for a whole object
	at    int                 // place in the pack

	content []byte
	known   bool
	wrong   bool
}

const (
	wholeBlob = iota
	wholeTag
	deltaByPlace
	deltaByHash
	kindsOfPackables
)

// parseProgram reads what objects to make: a kind, the base of a delta, a length,
// and so many bytes.
func parseProgram(program []byte) []*packable {
	var objects []*packable
	next := func() int {
		if len(program) == 0 {
			return 0
		}
		b := program[0]
		program = program[1:]
		return int(b)
	}
	for len(program) > 0 && len(objects) < 64 {
		o := &packable{kind: plumbing.BlobObject, base: -1, known: true}
		kind := next() % kindsOfPackables
		if kind >= deltaByPlace {
			o.base, o.byRef, o.known = next(), kind == deltaByHash, false
		}
		length := min(next(), len(program))
		body := bytes.Clone(program[:length])
		program = program[length:]
		switch {
		case kind == wholeTag:
			o.kind, o.content = plumbing.TagObject, body
		case o.base < 0:
			o.content = body
		default:
			o.delta = body
		}
		objects = append(objects, o)
	}
	for i, o := range objects {
		switch {
		case o.base < 0:
		case o.byRef: // one of any, itself too
			o.base %= len(objects)
		case i == 0:
			o.byRef, o.base = true, 0
		default:
			o.base %= i
		}
	}
	return objects
}

// encodePack writes a pack: https://git-scm.com/docs/pack-format
func encodePack(objects []*packable) []byte {
	var out bytes.Buffer
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, []uint32{2, uint32(len(objects))})
	for _, o := range objects {
		o.at = out.Len()
		kind, body := int(o.kind), o.content
		if o.delta != nil {
			kind, body = int(plumbing.OFSDeltaObject), o.delta
			if o.byRef {
				kind = int(plumbing.REFDeltaObject)
			}
		}
		size := len(body)
		first := byte(kind<<4 | size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out.WriteByte(first | 0x80)
			first = byte(size & 0x7f)
		}
		out.WriteByte(first)
		switch {
		case o.delta == nil:
		case o.byRef:
			base := objects[o.base]
			hash := plumbing.ComputeHash(base.kind, base.content)
			if !base.known {
				hash = plumbing.NewHash(strings.Repeat("ab", 20))
			}
			out.Write(hash[:])
		default:
			out.Write(distance(o.at - objects[o.base].at))
		}
		z := zlib.NewWriter(&out)
		_, _ = z.Write(body)
		_ = z.Close()
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

func distance(n int) []byte {
	encoded := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		encoded = append([]byte{byte(0x80 | n&0x7f)}, encoded...)
	}
	return encoded
}

// resolveNaively works out what deltas are, for as long as more become known. A
// base that is named by hash has to be known by then, or nobody can name it.
func resolveNaively(objects []*packable) {
	for progress := true; progress; {
		progress = false
		for _, o := range objects {
			if o.known || o.wrong || o.delta == nil || !objects[o.base].known {
				continue
			}
			content, err := undeltaNaively(objects[o.base].content, o.delta)
			switch {
			case errors.Is(err, object.ErrTooLarge): // stays unknown
			case err != nil:
				o.wrong = true
			default:
				o.known, o.kind, o.content = true, objects[o.base].kind, content
				progress = true
			}
		}
	}
}

var errBadDelta = errors.New("bad delta")

// undeltaNaively follows https://git-scm.com/docs/pack-format#_deltified_representation
func undeltaNaively(base, delta []byte) ([]byte, error) {
	// Git, too, takes a number that is cut short.
	size := func() (n uint64, cut bool, err error) {
		for i := 0; len(delta) > 0; i++ {
			if i == 9 { // beyond 63 bits
				return 0, false, object.ErrTooLarge
			}
			b := delta[0]
			delta = delta[1:]
			n |= uint64(b&0x7f) << (7 * i)
			if b < 0x80 || len(delta) == 0 {
				return n, b >= 0x80, nil
			}
		}
		return 0, false, errBadDelta
	}
	from, _, err := size()
	if err != nil {
		return nil, err
	}
	to, cut, err := size()
	if err != nil {
		return nil, err
	}
	if to > object.MaxBytes && !cut {
		return nil, object.ErrTooLarge
	}
	// go-git knows no deltas to nothing; Git writes none.
	if len(base) == 0 || from != uint64(len(base)) {
		return nil, errBadDelta
	}
	result := []byte{}
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return nil, errBadDelta
			}
			result = append(result, delta[:op]...)
			delta = delta[op:]
			continue
		}
		var fields [7]int
		for i := range fields {
			if op&(1<<i) != 0 {
				if len(delta) == 0 {
					return nil, errBadDelta
				}
				fields[i] = int(delta[0])
				delta = delta[1:]
			}
		}
		offset := fields[0] | fields[1]<<8 | fields[2]<<16 | fields[3]<<24
		length := fields[4] | fields[5]<<8 | fields[6]<<16
		if length == 0 {
			length = 0x10000
		}
		if offset+length > len(base) {
			return nil, errBadDelta
		}
		result = append(result, base[offset:offset+length]...)
	}
	if uint64(len(result)) != to {
		return nil, errBadDelta
	}
	return result, nil
}
