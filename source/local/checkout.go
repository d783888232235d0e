package local

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// Checkout takes the files of a folder on this machine, or one file, as [Directory]
// does. Where they are in a working tree of Git, it refuses what [Repository.WorkTree]
// refuses of them. What is in the folder and not in Git is taken.
//
// A repository with hashes of another kind than SHA-1, which no source can follow, is
// left alone.
//
// Errors: those of [Directory], source.ErrConverted, source.ErrIncomplete, and those of
// [Open].
func Checkout(name string) (*source.Snapshot, error) {
	return checkout(name, poolfile.DefaultLimits())
}

func checkout(name string, limits poolfile.Limits) (*source.Snapshot, error) {
	c := poolfile.NewCollector(name, limits)
	snapshot, err := (&walker{Collector: c}).take(name)
	if errors.Is(err, source.ErrPathMissing) {
		return nil, err
	}
	repository, folder, failed := enclosing(name, limits)
	if repository == nil {
		return snapshot, cmp.Or(err, failed)
	}
	there, failed := readIndex(repository.indexed, folder, repository.limits.Entries)
	if failed != nil {
		return nil, failed
	}
	if info, failed := os.Stat(name); failed == nil && !info.IsDir() {
		there = slices.DeleteFunc(there, func(e staged) bool { return e.name != folder })
		if c, failed = renamed(c, filepath.Base(name), path.Base(folder)); failed != nil {
			return nil, failed
		}
		folder = path.Dir(folder)
	}
	if err != nil {
		return nil, cmp.Or(leftOut(c, folder, there), err)
	}
	snapshot.Untracked, err = repository.compare(c, folder, there)
	if err != nil {
		return nil, err
	}
	return snapshot, nil
}

// renamed has one file by another name: that of the file which a link leads to.
func renamed(c *poolfile.Collector, from, to string) (*poolfile.Collector, error) {
	other := poolfile.NewCollector(c.Subject(), c.Limits())
	if collected(c, from) == nil {
		return other, nil
	}
	data, err := fs.ReadFile(c.Files(), from)
	if err != nil {
		return nil, err
	}
	return other, other.AddFile(to, data)
}

// enclosing finds the working tree that a file or folder is in, and where it is in there;
// nil where it is in none. Neither objects nor refs are read.
func enclosing(name string, limits poolfile.Limits) (*Repository, string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, "", nil
	}
	full = resolved(full)
	found, err := discover(full)
	if errors.Is(err, source.ErrRepositoryMissing) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	repository := &Repository{root: found.root, common: found.common, indexed: filepath.Join(found.git, "index"), limits: limits}
	err = repository.readConfig(found)
	if unsupported := errors.Is(err, source.ErrUnsupported); err != nil && !unsupported {
		return nil, "", err
	} else if repository.root == "" || unsupported && repository.sha256 {
		return nil, "", nil
	}
	folder, err := repository.Folder(full)
	if errors.Is(err, source.ErrInvalid) {
		return nil, "", nil // the working tree lies elsewhere
	}
	return repository, folder, err
}
