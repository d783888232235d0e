package source

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// store is where the objects of a commit are read from: what a server has sent, or
// a repository on this machine.
type store interface {
	commit(hash plumbing.Hash) (*object.Commit, error)
	tree(hash plumbing.Hash) ([]object.TreeEntry, error)
	// size of an object; false where the store does not have it.
	size(hash plumbing.Hash) (int64, bool)
	// read returns an object of a type; the caller may keep it.
	read(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error)
	// lacking says why the file of that name is not there; nil where it was left
	// out for its size.
	lacking(name string) error
}

// tree reads the files of one commit out of a store, without ever making a
// working copy of them.
type tree struct {
	*collector
	store store
	path  string
	root  plumbing.Hash
}

// snapshot reads the folder at the path.
func (t *target) snapshot(from *pack, wanted revision) (*Snapshot, error) {
	return readSnapshot(from, newCollector(t.subject(), t.limits), wanted, t.path)
}

func readSnapshot(from store, into *collector, wanted revision, name string) (*Snapshot, error) {
	commit, err := from.commit(wanted.hash)
	if err != nil {
		return nil, err
	}
	r := &tree{collector: into, store: from, path: name, root: commit.TreeHash}
	folder, err := r.at(name)
	if err != nil {
		return nil, err
	}
	if err := r.walk(folder, "."); err != nil {
		return nil, err
	}
	files, err := r.done()
	if err != nil {
		return nil, err
	}
	return &Snapshot{Revision: wanted.String(), TreeHash: folder.String(), Files: files}, nil
}

// at finds the folder at the path, without following links.
func (r *tree) at(name string) (plumbing.Hash, error) {
	folder := r.root
	if name == "." {
		return folder, nil
	}
	passed := ""
	for part := range strings.SplitSeq(name, "/") {
		passed = path.Join(passed, part)
		entry, err := r.entry(folder, part)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if entry == nil {
			return plumbing.ZeroHash, failure(ErrPathMissing, r.subject, "there is no folder "+quote(passed))
		}
		if entry.Mode != filemode.Dir {
			return plumbing.ZeroHash, failure(ErrPathNotFolder, r.subject, quote(passed)+" is "+describe(entry.Mode))
		}
		folder = entry.Hash
	}
	return folder, nil
}

func describe(mode filemode.FileMode) string {
	switch mode {
	case filemode.Symlink:
		return "a symbolic link, not a folder"
	case filemode.Submodule:
		return "a submodule, not a folder"
	}
	return "a file, not a folder"
}

func (r *tree) entry(folder plumbing.Hash, name string) (*object.TreeEntry, error) {
	entries, err := r.store.tree(folder)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i], nil
		}
	}
	return nil, nil
}

func (r *tree) walk(folder plumbing.Hash, name string) error {
	entries, err := r.store.tree(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.Contains(entry.Name, "/") {
			return r.refuse(name, "holds a name with a slash in it")
		}
		if err := r.take(entry, path.Join(name, entry.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *tree) take(entry object.TreeEntry, name string) error {
	switch entry.Mode {
	case filemode.Dir:
		if err := r.folder(name); err != nil {
			return err
		}
		return r.walk(entry.Hash, name)
	case filemode.Regular, filemode.Deprecated, filemode.Executable:
		return r.blob(entry.Hash, name)
	case filemode.Symlink:
		harmless, err := r.harmless(entry.Hash, path.Join(r.path, name))
		if err != nil {
			return err
		}
		return r.link(name, harmless)
	case filemode.Submodule:
		return r.refuse(name, "is a submodule, which is never fetched").
			withHint("put the pool files into this repository, or set path to a folder without submodules")
	}
	return r.refuse(name, "is of a kind that is not known")
}

func (r *tree) blob(hash plumbing.Hash, name string) error {
	size, known := r.store.size(hash)
	if !known {
		if err := r.store.lacking(name); err != nil {
			return err
		}
		size = r.limits.fileBytes + 1 // it was left out for that
	}
	if err := r.room(name, size); err != nil {
		return err
	}
	data, err := r.store.read(hash, plumbing.BlobObject)
	if err != nil {
		return err
	}
	return r.file(name, data)
}

// harmless tells whether a link leads to a regular file of the commit that is
// no YAML. A link to a link is not followed any further.
func (r *tree) harmless(hash plumbing.Hash, name string) (bool, error) {
	if size, known := r.store.size(hash); !known || size > maxLinkBytes {
		return false, nil
	}
	target, err := r.store.read(hash, plumbing.BlobObject)
	if err != nil {
		return false, err
	}
	to := path.Join(path.Dir(name), string(target))
	if path.IsAbs(string(target)) || to == ".." || strings.HasPrefix(to, "../") || isYAML(to) {
		return false, nil
	}
	folder := r.root
	parts := strings.Split(to, "/")
	for i, part := range parts {
		entry, err := r.entry(folder, part)
		if err != nil || entry == nil {
			return false, err
		}
		if i == len(parts)-1 {
			return entry.Mode.IsRegular() || entry.Mode == filemode.Executable, nil
		}
		if entry.Mode != filemode.Dir {
			return false, nil
		}
		folder = entry.Hash
	}
	return false, nil
}
