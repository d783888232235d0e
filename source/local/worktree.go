package local

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// WorkTree reads a folder of the working tree as it is on disk, with what is not
// committed, not tracked or ignored. It refuses links and submodules, as a source does.
//
// Errors: those of [Directory], source.ErrInvalid, source.ErrPathNotFolder, and
// source.ErrIncomplete for files of the folder that git leaves out: they would look deleted.
func (r *Repository) WorkTree(ctx context.Context, folder string) (*source.Snapshot, error) {
	if r.root == "" {
		return nil, r.bare()
	}
	clean, err := source.CleanPath(folder)
	if err != nil {
		return nil, err
	}
	there, err := readIndex(r.indexed)
	if err != nil {
		return nil, err
	}
	w := &walker{Collector: poolfile.NewCollector("working tree", r.limits), nested: true}
	full := filepath.Join(r.root, filepath.FromSlash(clean))
	snapshot, err := w.folder(r.root, clean, full)
	if err := cmp.Or(leftOut(w.Collector, clean, there), err); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, r.explain(ctx, w.Subject(), err)
	}
	snapshot.Untracked, err = untracked(w.Collector, clean, there)
	return snapshot, err
}

func (w *walker) folder(root, clean, full string) (*source.Snapshot, error) {
	if err := w.checkFolders(root, clean); err != nil {
		return nil, err
	}
	return w.take(full)
}

// Checkout takes the files of a folder on this machine, or one file, as [Directory]
// does. It refuses a folder of a working tree from which git leaves files out.
//
// A repository that cannot be read, of another kind of hash for one, is left alone.
//
// Errors: those of [Directory], source.ErrIncomplete, and those of [Open].
func Checkout(name string) (*source.Snapshot, error) {
	return checkout(name, poolfile.DefaultLimits())
}

func checkout(name string, limits poolfile.Limits) (*source.Snapshot, error) {
	w := &walker{Collector: poolfile.NewCollector(name, limits)}
	snapshot, err := w.take(name)
	if errors.Is(err, source.ErrPathMissing) {
		return nil, err
	}
	repository, folder, failed := enclosing(name, limits)
	if failed != nil {
		return nil, cmp.Or(err, failed)
	}
	if info, statErr := os.Stat(name); repository == nil || statErr != nil || !info.IsDir() {
		return snapshot, err
	}
	there, failed := readIndex(repository.indexed)
	if failed != nil {
		return nil, failed
	}
	if err := cmp.Or(leftOut(w.Collector, folder, there), err); err != nil {
		return nil, err
	}
	return snapshot, nil
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
	if errors.Is(err, source.ErrUnsupported) || err == nil && repository.root == "" {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	folder, err := repository.Folder(full)
	if errors.Is(err, source.ErrInvalid) {
		return nil, "", nil // the working tree lies elsewhere
	}
	return repository, folder, err
}
