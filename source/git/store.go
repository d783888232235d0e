package git

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
	"github.com/nodepools/nodepools/source/poolfile"
)

var _ object.Store = (*pack)(nil)

// snapshot reads the folder at the path.
func (t *target) snapshot(from *pack, wanted object.Revision) (*source.Snapshot, error) {
	if o := from.objects[wanted.Hash]; o != nil && o.kind != plumbing.CommitObject {
		name := t.Ref.String()
		if t.Ref.Semver != "" {
			name = "tag " + source.Quote(wanted.Name)
		}
		return nil, t.fail(source.ErrNotCommit, fmt.Sprintf("%s stands for a %s, and not for a commit", name, o.kind))
	}
	return object.Snapshot(from, poolfile.NewCollector(t.subject(), t.limits.Limits), wanted, t.path)
}

// Size, Read and Missing make a pack a store.
func (p *pack) Size(hash plumbing.Hash) (int64, bool) {
	o := p.objects[hash]
	if o == nil {
		return 0, false
	}
	return o.size, true
}

func (p *pack) Read(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	o := p.objects[hash]
	if o == nil || o.kind != kind {
		return nil, fmt.Errorf("the pack has no %s %s", kind, hash)
	}
	data, err := p.content(o)
	if errors.Is(err, object.ErrTooLarge) {
		return nil, p.target.fail(source.ErrTooLarge, fmt.Sprintf("%s %s is larger than %d bytes", kind, hash, object.MaxBytes))
	}
	if err == nil && p.earlier != nil && plumbing.ComputeHash(kind, data) != hash {
		return nil, fmt.Errorf("%s %s is not what was kept", kind, hash) // the disk is not trusted for so long
	}
	return bytes.Clone(data), err
}

func (p *pack) Missing(name string) error {
	if p.partial || p.skipped {
		return nil
	}
	return p.target.fail(source.ErrServer, "the server left out "+source.Quote(name))
}
