package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/git"
)

// sourceSides are a cluster, and what one of its sources would take if it
// followed another ref.
func (o *diffOptions) sourceSides(ctx context.Context) (*sides, error) {
	refs, err := o.refs()
	if err != nil {
		return nil, err
	}
	there, err := o.there(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := chooseSource(there, o.source)
	if err != nil {
		return nil, err
	}
	if chosen == nil {
		return nil, fmt.Errorf("%s has no NodePoolSource", there.Kind())
	}
	repository := controller.Repository(chosen, max(o.cluster.timeout, git.DefaultTimeout))
	revision, snapshot, err := latest(ctx, repository, refs)
	if err != nil {
		return nil, notTaken(err)
	}
	s := &sides{revision: revisionOf(chosen)}
	s.on(there)
	s.notes = append(s.notes, notesOn(chosen)...)
	s.revision.Name = revision
	s.compared.Head, s.compared.Source = revision, chosen.Name
	s.files, err = render.Load(snapshot.Files)
	if err != nil {
		name, _, _ := strings.Cut(revision, "@sha1:")
		fetched := end{what: "head", name: name, revision: revision}
		return nil, fetched.invalid(err, "", path.Clean(chosen.Spec.Path))
	}
	s.revision.Pools = s.files
	s.files = within(path.Clean("./"+chosen.Spec.Path), s.files)
	return s, nil
}

// refs are those that --ref may mean; none where the source's own is meant.
func (o *diffOptions) refs() ([]git.Ref, error) {
	if o.against.ref == "" {
		return nil, nil
	}
	refs, err := git.ParseRef(o.against.ref)
	if err != nil {
		return nil, usageError{fmt.Errorf("--ref: %w", err)}
	}
	return refs, nil
}

// latest reads the revision of the one ref that the repository has.
func latest(ctx context.Context, repository *git.Repository, refs []git.Ref) (string, *source.Snapshot, error) {
	if len(refs) > 0 {
		ref, err := only(ctx, repository, refs)
		if err != nil {
			return "", nil, err
		}
		repository.Ref = ref
	}
	return repository.Latest(ctx, "")
}

// only finds out which of several refs there is.
func only(ctx context.Context, repository *git.Repository, refs []git.Ref) (git.Ref, error) {
	var found []git.Ref
	var missing error
	for _, ref := range refs {
		candidate := *repository
		candidate.Ref = ref
		switch _, err := candidate.Head(ctx); {
		case err == nil:
			found = append(found, ref)
		case errors.Is(err, source.ErrRefMissing):
			missing = err
		default:
			return git.Ref{}, err
		}
	}
	switch {
	case len(found) == 0 && len(refs) > 1:
		return git.Ref{}, hinted{fmt.Errorf("%w, nor a branch of that name", missing), source.Hint(missing)}
	case len(found) == 0:
		return git.Ref{}, missing
	case len(found) > 1:
		return git.Ref{}, hinted{fmt.Errorf("the repository has a branch and a tag %q", found[0].Branch),
			fmt.Sprintf("say which one with --ref refs/heads/%[1]s or --ref refs/tags/%[1]s", found[0].Branch)}
	}
	return found[0], nil
}

// notTaken says what a source does where it cannot take a revision.
func notTaken(err error) error {
	if !errors.Is(err, source.ErrPathMissing) && !errors.Is(err, source.ErrPathEmpty) {
		return err
	}
	return hinted{err, source.Hint(err) + "; a source that finds this changes nothing and prunes nothing"}
}
