package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/local"
)

// end is one of the two revisions that are compared.
type end struct {
	what string // "base" or "head"
	// name is what it is called: "main", "working tree".
	name string
	// note says how it was found.
	note        string
	revision    string // empty for the working tree
	layers      []string
	definitions []render.Definition
	// missing is true where there is no such folder.
	missing bool
	// untracked are files of the working tree that no commit has yet.
	untracked []string
}

func (e *end) resolve(ctx context.Context, repository *local.Repository, revision string) (string, error) {
	found, err := repository.Resolve(ctx, revision)
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.what, err)
	}
	return found, nil
}

// load reads the pools. A folder that is not there yet is no error of the base:
// it has no pools. Of the head it is one, as of a source.
func (e *end) load(ctx context.Context, repository *local.Repository, folder string) error {
	snapshot, err := e.snapshot(ctx, repository, folder)
	gone := errors.Is(err, source.ErrPathMissing) || errors.Is(err, source.ErrPathEmpty)
	switch {
	case gone && e.what == "base":
		e.missing = true
		return nil
	case gone:
		return hint.Add(fmt.Errorf("%s: %w", e.what, err), "check the path; a source whose folder is gone or empty says so, changes nothing and prunes nothing; "+
			"if the folder has moved, its path moves with it; to delete every pool, delete them with kubectl")
	case err != nil:
		return fmt.Errorf("%s: %w", e.what, err)
	}
	e.untracked = snapshot.Untracked
	layers := e.layers
	if e.what == "base" && len(layers) > 0 {
		if layers = existing(snapshot.Files, layers); len(layers) == 0 {
			e.missing = true
			return nil
		}
	}
	e.definitions, err = render.Load(snapshot.Files, layers...)
	return e.invalid(err, repository.Root(), folder)
}

// existing are the layers that a base has. One that the change brings is not missing
// there.
func existing(files fs.FS, layers []string) []string {
	return slices.DeleteFunc(slices.Clone(layers), func(layer string) bool {
		_, err := fs.Stat(files, layer)
		return errors.Is(err, fs.ErrNotExist)
	})
}

func (e *end) snapshot(ctx context.Context, repository *local.Repository, folder string) (*source.Snapshot, error) {
	if e.revision == "" {
		return repository.WorkTree(ctx, folder)
	}
	return repository.Snapshot(ctx, e.revision, folder)
}

// invalid names files as git does, main:pools/gpu.yaml, and those of the working
// tree as the user would open them.
func (e *end) invalid(err error, root, folder string) error {
	problems := render.Problems(nil)
	if !errors.As(err, &problems) {
		return err
	}
	for i := range problems {
		problems[i].File = e.file(root, path.Join(folder, problems[i].File))
	}
	return problems.In(fmt.Sprintf("the %s, %s", e.what, e.name))
}

func (e *end) file(root, name string) string {
	if e.revision != "" {
		return e.name + ":" + name
	}
	full := filepath.Join(root, filepath.FromSlash(name))
	if here, err := os.Getwd(); err == nil {
		if near, err := filepath.Rel(here, full); err == nil {
			return near
		}
	}
	return full
}

// place is a folder in words.
func (e *end) place(folder string) string {
	if folder == "." {
		return "the repository"
	}
	return "the folder " + folder
}

// title is the end as the review names it.
func (e *end) title() string {
	title := cmp.Or(e.revision, e.name)
	if e.note != "" {
		title += " (" + e.note + ")"
	}
	return title
}

// called is the end in a sentence.
func (e *end) called() string {
	if e.note != "" {
		return "the " + e.note
	}
	return e.name
}

// shortRevision is the beginning of the hash of a revision without a name.
func shortRevision(revision string) string { return strings.TrimPrefix(revision, "sha1:")[:12] }
