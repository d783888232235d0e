package local

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// Ancestor is a commit before another one.
type Ancestor struct {
	// Revision has no name: "sha1:<40 hex>".
	Revision string
	// Generation is how many commits it is before, as in main~2.
	Generation int
	// TreeHash is that of the folder, as of a [Snapshot]; empty where there is none.
	TreeHash string
}

// maxGenerations bounds how far [Repository.Ancestors] goes back: ten seconds or so.
const maxGenerations = 10_000

// Ancestors are the commits before a revision, the youngest first, as 'git log
// --first-parent' has them, each with what a folder was. Whether a source takes a folder
// does not always depend on it alone: a link in it may lead out of it.
//
// Where the history is not known to its beginning, an error comes last:
// source.ErrIncomplete in a shallow clone, source.ErrTooLarge after 10,000 commits.
func (r *Repository) Ancestors(ctx context.Context, revision, folder string) iter.Seq2[Ancestor, error] {
	return func(yield func(Ancestor, error) bool) {
		wanted, err := object.ParseRevision(revision)
		if err != nil {
			yield(Ancestor{}, err)
			return
		}
		clean, err := source.CleanPath(folder)
		if err != nil {
			yield(Ancestor{}, err)
			return
		}
		o := &objects{Repository: r, ctx: ctx}
		if err := o.ancestors(wanted.Hash, clean, yield); err != nil {
			yield(Ancestor{}, r.explain(ctx, brief(wanted), err))
		}
	}
}

// ancestors returns nil at the beginning of the history, and when nobody wants more.
func (o *objects) ancestors(from plumbing.Hash, folder string, yield func(Ancestor, error) bool) error {
	for generation := range maxGenerations {
		commit, err := object.Commit(o, from)
		if err != nil {
			return err
		}
		if generation > 0 {
			folder, err := o.folderAt(commit.TreeHash, folder)
			if err != nil {
				return err
			}
			if !yield(Ancestor{Revision: object.Revision{Hash: from}.String(), Generation: generation, TreeHash: folder}, nil) {
				return nil
			}
		}
		if o.shallow[from] {
			return o.incomplete("", "the history ends at commit "+from.String()[:12])
		}
		if len(commit.ParentHashes) == 0 {
			return nil
		}
		from = commit.ParentHashes[0]
	}
	return source.NewError(source.ErrTooLarge, "", fmt.Sprintf("the history has more than %d commits", maxGenerations)).
		WithHint("name the revision to compare with by itself")
}

// Tree is the hash of a folder in a revision; empty where there is none.
func (r *Repository) Tree(ctx context.Context, revision, folder string) (string, error) {
	wanted, err := object.ParseRevision(revision)
	if err != nil {
		return "", err
	}
	clean, err := source.CleanPath(folder)
	if err != nil {
		return "", err
	}
	o := &objects{Repository: r, ctx: ctx}
	commit, err := object.Commit(o, wanted.Hash)
	if err != nil {
		return "", r.explain(ctx, brief(wanted), err)
	}
	hash, err := o.folderAt(commit.TreeHash, clean)
	return hash, r.explain(ctx, brief(wanted), err)
}

// folderAt is the hash of a folder in a tree; empty where there is none.
func (o *objects) folderAt(root plumbing.Hash, folder string) (string, error) {
	hash, err := object.Folder(o, root, folder)
	if errors.Is(err, source.ErrPathMissing) || errors.Is(err, source.ErrPathNotFolder) {
		return "", nil
	}
	return hash.String(), err
}
