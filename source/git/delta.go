package git

import (
	"bytes"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source/object"
)

// resolve finds out what the deltas are. Bases come before their deltas as a
// rule, so that one round is enough; rounds go on while they get anywhere.
func (p *pack) resolve() error {
	for progress := true; progress && len(p.pending) > 0; {
		progress = false
		var waiting []*packed
		for _, o := range p.pending {
			if o.base == nil {
				if o.base = p.objects[o.ref]; o.base != nil {
					o.base.isBase = true
				}
			}
			if o.base == nil || o.base.hash.IsZero() {
				waiting = append(waiting, o)
				continue
			}
			if err := p.resolveDelta(o); err != nil {
				return err
			}
			progress = true
		}
		p.pending = waiting
	}
	return nil
}

// resolveDelta gives a delta its hash. What is too large stays unknown, and so
// does what builds on it; it matters only if it is asked for.
func (p *pack) resolveDelta(o *packed) error {
	if first := p.objects[o.base.hash]; first != nil {
		o.base = first // of several that are equal
	}
	o.ref, o.depth = o.base.hash, o.base.depth+1
	if o.depth > object.MaxDeltaChain {
		return errors.New("a chain of deltas without end")
	}
	content, err := p.undelta(o)
	if errors.Is(err, object.ErrTooLarge) {
		p.skipped = true
		return nil
	}
	if err != nil {
		return err
	}
	o.kind, o.size = o.base.kind, int64(len(content))
	o.hash = plumbing.ComputeHash(o.kind, content)
	if p.objects[o.hash] == nil {
		p.objects[o.hash] = o
	}
	return nil
}

// content returns an object, which the caller must not change.
func (p *pack) content(o *packed) ([]byte, error) {
	if cached, ok := p.cache.Get(o.offset); ok {
		return cached, nil
	}
	if o.base != nil {
		return p.undelta(o)
	}
	data, err := p.inflate(o, o.size)
	return p.remember(o, data), err
}

func (p *pack) undelta(o *packed) ([]byte, error) {
	base, err := p.content(o.base)
	if err != nil {
		return nil, err
	}
	delta, err := p.inflate(o, object.MaxBytes)
	if err != nil {
		return nil, err
	}
	data, err := object.Patch(base, delta)
	if err != nil {
		return nil, err
	}
	return p.remember(o, data), nil
}

// remember keeps what others are likely to build on.
func (p *pack) remember(o *packed, data []byte) []byte {
	if o.isBase && data != nil {
		p.cache.Put(o.offset, data)
	}
	return data
}

// inflate reads what lies at an object's place, a delta as it is.
func (p *pack) inflate(o *packed, size int64) ([]byte, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	if size > object.MaxBytes {
		return nil, object.ErrTooLarge
	}
	header, err := p.scanner.SeekObjectHeader(o.offset)
	if err != nil {
		return nil, err
	}
	if header.Length > object.MaxBytes {
		return nil, object.ErrTooLarge
	}
	buffer := bytes.NewBuffer(make([]byte, 0, header.Length))
	if _, _, err := p.scanner.NextObject(buffer); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
