package local

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

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
