package source

import (
	"io/fs"
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
	// listings are the folders that links lead through.
	listings map[plumbing.Hash]map[string]object.TreeEntry
	listed   int
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

// entry finds what a folder has by that name; nil where it has none.
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
		if entry.Name == "" || entry.Name == "." || entry.Name == ".." || strings.Contains(entry.Name, "/") {
			return r.refuse(name, "holds the name "+quote(entry.Name)+", which nothing can have")
		}
		if err := r.take(entry, path.Join(name, entry.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *tree) take(entry object.TreeEntry, name string) error {
	if regarded, err := r.regards(name, kindOf(entry.Mode)); err != nil || !regarded {
		return err
	}
	switch entry.Mode {
	case filemode.Dir:
		if err := r.folder(name); err != nil {
			return err
		}
		return r.walk(entry.Hash, name)
	case filemode.Regular, filemode.Deprecated, filemode.Executable:
		return r.blob(entry.Hash, name)
	case filemode.Symlink:
		return r.link(name, func(name string) (destination, error) { return r.leads(path.Join(r.path, name)) })
	case filemode.Submodule:
		return r.refuse(name, "is a submodule, which is never fetched").
			withHint("put the pool files into this repository, or set path to a folder without submodules")
	}
	return r.refuse(name, "is of a kind that is not known")
}

// kindOf is the kind that git takes an entry for. A submodule is a folder, and so may be
// what is not known.
func kindOf(mode filemode.FileMode) fs.FileMode {
	switch mode & 0o170000 {
	case filemode.Regular & 0o170000:
		return 0
	case filemode.Symlink:
		return fs.ModeSymlink
	}
	return fs.ModeDir
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
