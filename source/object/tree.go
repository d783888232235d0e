package object

import (
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// tree reads the files of one commit out of a store, without ever making a
// working copy of them.
type tree struct {
	*poolfile.Collector
	store Store
	path  string
	root  plumbing.Hash
	// listings are the folders that links lead through.
	listings map[plumbing.Hash]map[string]object.TreeEntry
	listed   int
}

// Snapshot reads the folder of a commit into a collector. The folder is a path as
// [source.CleanPath] returns it.
//
// Errors: source.ErrPathMissing, source.ErrPathNotFolder, those of the collector and
// those of the store.
func Snapshot(from Store, into *poolfile.Collector, wanted Revision, folder string) (*source.Snapshot, error) {
	commit, err := Commit(from, wanted.Hash)
	if err != nil {
		return nil, err
	}
	r := &tree{Collector: into, store: from, path: folder, root: commit.TreeHash}
	root, err := r.at(folder)
	if err != nil {
		return nil, err
	}
	if err := r.walk(root, "."); err != nil {
		return nil, err
	}
	files, err := r.Done()
	if err != nil {
		return nil, err
	}
	return &source.Snapshot{Revision: wanted.String(), TreeHash: root.String(), Files: files}, nil
}

// Folder is the hash of a folder in a tree.
//
// Errors: source.ErrPathMissing, source.ErrPathNotFolder and those of the store.
func Folder(from Store, root plumbing.Hash, folder string) (plumbing.Hash, error) {
	r := &tree{Collector: poolfile.NewCollector("", poolfile.DefaultLimits()), store: from, path: folder, root: root}
	return r.at(folder)
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
			return plumbing.ZeroHash, source.NewError(source.ErrPathMissing, r.Subject(), "there is no folder "+source.Quote(passed))
		}
		if entry.Mode != filemode.Dir {
			return plumbing.ZeroHash, source.NewError(source.ErrPathNotFolder, r.Subject(), source.Quote(passed)+" is "+describe(entry.Mode))
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
	entries, err := Tree(r.store, folder)
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
	entries, err := Tree(r.store, folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name == "" || entry.Name == "." || entry.Name == ".." || strings.Contains(entry.Name, "/") {
			return r.Refuse(name, "holds the name "+source.Quote(entry.Name)+", which nothing can have")
		}
		if err := r.take(entry, path.Join(name, entry.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *tree) take(entry object.TreeEntry, name string) error {
	if regarded, err := r.Wants(name, kindOf(entry.Mode)); err != nil || !regarded {
		return err
	}
	switch entry.Mode {
	case filemode.Dir:
		if err := r.AddFolder(name); err != nil {
			return err
		}
		return r.walk(entry.Hash, name)
	case filemode.Regular, filemode.Deprecated, filemode.Executable:
		return r.blob(entry.Hash, name)
	case filemode.Symlink:
		return r.RefuseLink(name, func(name string) (poolfile.Destination, error) { return r.leads(path.Join(r.path, name)) })
	case filemode.Submodule:
		return r.RefuseSubmodule(name, "is a submodule")
	}
	return r.Refuse(name, "is of a kind that is not known")
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
	size, known := r.store.Size(hash)
	if !known {
		if err := r.store.Missing(name); err != nil {
			return err
		}
		size = r.Limits().FileBytes + 1 // it was left out for that
	}
	if err := r.CheckSize(name, size); err != nil {
		return err
	}
	data, err := r.store.Read(hash, plumbing.BlobObject)
	if err != nil {
		return err
	}
	return r.AddFile(name, data)
}
