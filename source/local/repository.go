package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
	"github.com/nodepools/nodepools/source/poolfile"
)

// Repository is a Git repository on this machine. It is only read, without the git
// program: no hook and no filter runs, and nothing is fetched.
//
// Revisions are written as those of a server are, "main@sha1:<40 hex>", with the name
// that was asked for.
type Repository struct {
	root    string // of the working tree; empty for a bare repository
	common  string // the folder with objects, refs and config
	guard   *guardedFiles
	storage *filesystem.Storage // refs, and the list of commits without history
	files   objectFiles
	indexed string // the file with the index of the working tree
	shallow map[plumbing.Hash]bool
	limits  poolfile.Limits
}

// Open opens the repository that a folder is in, wherever in it. Folders
// added by git worktree, submodules and bare repositories are repositories, too.
//
// Errors: source.ErrRepositoryMissing, source.ErrUnsupported, source.ErrUnreadable.
func Open(dir string) (*Repository, error) {
	found, err := discover(dir)
	if err != nil {
		return nil, err
	}
	guard := &guardedFiles{Filesystem: found.files()}
	r := &Repository{
		root: found.root, common: found.common, guard: guard, storage: filesystem.NewStorage(guard, cache.NewObjectLRU(0)),
		indexed: filepath.Join(found.git, "index"), shallow: map[plumbing.Hash]bool{}, limits: poolfile.DefaultLimits(),
	}
	if err := r.readConfig(found); err != nil {
		return nil, err
	}
	folders, err := objectFolders(filepath.Join(found.common, "objects"))
	if err != nil {
		return nil, err
	}
	if r.files, err = objectFilesOf(folders); err != nil {
		return nil, err
	}
	shallow, err := r.storage.Shallow()
	if err := guard.refused(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, source.NewError(source.ErrUnreadable, dir, "the list of commits without history cannot be read")
	}
	for _, commit := range shallow {
		r.shallow[commit] = true
	}
	return r, nil
}

// Root is the folder of the working tree, and empty for a bare repository.
func (r *Repository) Root() string { return r.root }

// Shallow reports whether the history is cut off, as CI systems clone it.
func (r *Repository) Shallow() bool { return len(r.shallow) > 0 }

// Folder is where in the repository a file or folder of this machine is: its path
// from the root, "." for the root. It need not exist.
//
// Errors: source.ErrInvalid for what is not in the repository.
func (r *Repository) Folder(path string) (string, error) {
	if r.root == "" {
		return "", r.bare()
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", source.NewError(source.ErrUnreadable, path, "cannot be found")
	}
	inside, err := filepath.Rel(resolved(r.root), resolved(full))
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return "", source.NewError(source.ErrInvalid, path, "is not in the repository").WithHint("name a folder of the repository")
	}
	return source.CleanPath(filepath.ToSlash(inside))
}

// resolved follows the links of as much of a path as exists.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}

// Snapshot reads a folder of a revision, by the rules and limits of a fetch from a
// server.
// The folder is given from the root of the repository; "" and "." are the root.
//
// Errors: source.ErrInvalid, source.ErrPathMissing, source.ErrPathNotFolder,
// source.ErrPathEmpty, source.ErrFile, source.ErrTooLarge, source.ErrIncomplete,
// source.ErrCanceled.
func (r *Repository) Snapshot(ctx context.Context, revision, folder string) (*source.Snapshot, error) {
	wanted, err := object.ParseRevision(revision)
	if err != nil {
		return nil, err
	}
	clean, err := source.CleanPath(folder)
	if err != nil {
		return nil, err
	}
	snapshot, err := object.Snapshot(&objects{Repository: r, ctx: ctx}, poolfile.NewCollector(brief(wanted), r.limits), wanted, clean)
	return snapshot, r.explain(ctx, brief(wanted), err)
}

func (r *Repository) bare() *source.Error {
	return source.NewError(source.ErrUnsupported, "", "the repository has no working tree").
		WithHint("name the head with --head and the folder with --path, as diff can; or make a clone that has a working tree")
}

// explain puts what go-git says into an error of this package.
func (r *Repository) explain(ctx context.Context, subject string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return source.NewError(source.ErrCanceled, subject, "canceled").WithCause(context.Canceled)
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return r.incomplete(subject, "a part of it is not in this clone")
	}
	if _, ours := errors.AsType[*source.Error](err); ours {
		return err
	}
	return source.NewError(source.ErrUnreadable, subject, fmt.Sprintf("the repository cannot be read: %v", err)).WithHint("'git fsck' says what is wrong with it")
}

// incomplete is the error of a clone that was made without all of the history, or
// without all files.
func (r *Repository) incomplete(subject, text string) *source.Error {
	e := source.NewError(source.ErrIncomplete, subject, text)
	if r.Shallow() {
		return e.WithHint("the clone is shallow: fetch more of the history with 'git fetch --unshallow'; in CI, with fetch-depth: 0 (GitHub) or GIT_DEPTH: 0 (GitLab)")
	}
	return e
}

// brief names a revision in an error.
func brief(r object.Revision) string {
	if r.Name != "" {
		return source.Subject(r.Name)
	}
	return r.Hash.String()[:12]
}
