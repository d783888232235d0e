package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Local is a Git repository on this machine. It is only read, without the git
// program: no hook and no filter runs, and nothing is fetched.
//
// Revisions are written as those of [Git] are, "main@sha1:<40 hex>", with the name
// that was asked for.
type Local struct {
	root    string // of the working tree; empty for a bare repository
	common  string // the folder with objects, refs and config
	guard   *guardedFiles
	storage *filesystem.Storage // refs, and the list of commits without history
	files   *objectFiles
	indexed string // the file with the index of the working tree
	shallow map[plumbing.Hash]bool
	limits  limits
	// sha256: objects are named by hashes of another kind.
	sha256 bool
}

// OpenLocal opens the repository that a folder is in, wherever in it. Folders
// added by git worktree, submodules and bare repositories are repositories, too.
//
// Errors: ErrRepositoryMissing, ErrUnsupported, ErrUnreadable.
func OpenLocal(dir string) (*Local, error) {
	found, err := discover(dir)
	if err != nil {
		return nil, err
	}
	guard := &guardedFiles{Filesystem: found.files()}
	l := &Local{
		root: found.root, common: found.common, guard: guard, storage: filesystem.NewStorage(guard, cache.NewObjectLRU(0)), files: &objectFiles{},
		indexed: filepath.Join(found.git, "index"), shallow: map[plumbing.Hash]bool{}, limits: defaultLimits(),
	}
	if err := l.readConfig(found); err != nil {
		return nil, err
	}
	if l.files.folders, err = objectFolders(filepath.Join(found.common, "objects")); err != nil {
		return nil, err
	}
	shallow, err := l.storage.Shallow()
	if err := guard.refused(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, failure(ErrUnreadable, dir, "the list of commits without history cannot be read")
	}
	for _, commit := range shallow {
		l.shallow[commit] = true
	}
	return l, nil
}

// Root is the folder of the working tree, and empty for a bare repository.
func (l *Local) Root() string { return l.root }

// Shallow tells whether the history is cut off, as CI systems clone it.
func (l *Local) Shallow() bool { return len(l.shallow) > 0 }

// Folder is where in the repository a file or folder of this machine is: its path
// from the root, "." for the root. It need not exist.
//
// Errors: ErrInvalid for what is not in the repository.
func (l *Local) Folder(path string) (string, error) {
	if l.root == "" {
		return "", l.bare()
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", failure(ErrUnreadable, path, "cannot be found")
	}
	inside, err := filepath.Rel(resolved(l.root), resolved(full))
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return "", failure(ErrInvalid, path, "is not in the repository").withHint("name a folder of the repository")
	}
	return cleanPath(filepath.ToSlash(inside))
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

// Snapshot reads a folder of a revision, by the rules and limits of [Git.Fetch].
// The folder is given from the root of the repository; "" and "." are the root.
//
// Errors: ErrInvalid, ErrPathMissing, ErrPathNotFolder, ErrPathEmpty, ErrFile,
// ErrTooLarge, ErrIncomplete, ErrCanceled.
func (l *Local) Snapshot(ctx context.Context, revision, folder string) (*Snapshot, error) {
	wanted, err := parseRevision(revision)
	if err != nil {
		return nil, err
	}
	clean, err := cleanPath(folder)
	if err != nil {
		return nil, err
	}
	snapshot, err := readSnapshot(&objects{Local: l, ctx: ctx}, newCollector(wanted.brief(), l.limits), wanted, clean)
	return snapshot, l.explain(ctx, wanted.brief(), err)
}

// passes checks that each part of the path is a folder of this repository, and
// not a link or a submodule.
func (c *collector) passes(root, path string) error {
	if path == "." {
		return nil
	}
	passed := root
	for part := range strings.SplitSeq(path, "/") {
		passed = filepath.Join(passed, part)
		name, _ := filepath.Rel(root, passed)
		info, err := os.Lstat(passed)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return failure(ErrPathMissing, c.subject, "there is no folder "+quote(name))
		case err != nil:
			return c.unreadable(name, err)
		case info.Mode()&os.ModeSymlink != 0:
			return failure(ErrPathNotFolder, c.subject, quote(name)+" is a symbolic link, not a folder")
		case !info.IsDir():
			return failure(ErrPathNotFolder, c.subject, quote(name)+" is a file, not a folder")
		}
		if _, err := os.Lstat(filepath.Join(passed, ".git")); err == nil {
			return failure(ErrPathNotFolder, c.subject, quote(name)+" is a repository of its own, not a folder of this one")
		}
	}
	return nil
}

func (l *Local) bare() *Error {
	return failure(ErrUnsupported, "", "the repository has no working tree").
		withHint("name the head by a revision, and the folder from the root of the repository")
}

// explain puts what go-git says into an error of this package.
func (l *Local) explain(ctx context.Context, subject string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &Error{kind: ErrCanceled, text: subject + ": canceled", cause: context.Canceled}
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return l.incomplete(subject, "a part of it is not in this clone")
	}
	if _, ours := errors.AsType[*Error](err); ours {
		return err
	}
	return failure(ErrUnreadable, subject, fmt.Sprintf("the repository cannot be read: %v", err)).withHint("'git fsck' says what is wrong with it")
}

// incomplete is the error of a clone that was made without all of the history, or
// without all files.
func (l *Local) incomplete(subject, text string) *Error {
	e := failure(ErrIncomplete, subject, text)
	if l.Shallow() {
		return e.withHint("the clone is shallow: fetch more of the history with 'git fetch --unshallow'; in CI, with fetch-depth: 0 (GitHub) or GIT_DEPTH: 0 (GitLab)")
	}
	return e
}

// brief names a revision in an error.
func (r revision) brief() string {
	if r.name != "" {
		return clip(printable(r.name), 120)
	}
	return r.hash.String()[:12]
}
