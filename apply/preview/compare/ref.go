package compare

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/git"
)

// Ref compares a cluster with what one of its sources, that of the name or the only
// one, would take if it followed another ref. Of several refs the repository must have
// one; no ref is the source's own, and no layers are the source's. The repository of a
// source is made by repository.
func Ref(ctx context.Context, state *observe.State, sourceName string, refs []git.Ref, layers []string, repository func(*v1.NodePoolSource) (*git.Repository, error)) (*Sides, error) {
	chosen, err := ChooseSource(state, sourceName)
	if err != nil {
		return nil, err
	}
	if chosen == nil {
		return nil, fmt.Errorf("%s has no NodePoolSource", state.Kind())
	}
	from, err := repository(chosen)
	if err != nil {
		return nil, err
	}
	revision, snapshot, err := latest(ctx, from, refs)
	if err != nil {
		return nil, notTaken(err)
	}
	s := &Sides{Revision: revisionOf(chosen), source: chosen}
	s.on(state)
	s.Notes = append(s.Notes, notesOn(chosen)...)
	s.Revision.Name = revision
	s.Compared.Head, s.Compared.Source = revision, chosen.Name
	if layers == nil {
		layers = chosen.Spec.Layers
	}
	s.Revision.Pools, err = render.Load(snapshot.Files, layers...)
	if err != nil {
		name, _, _ := strings.Cut(revision, "@sha1:")
		fetched := end{what: "head", name: name, revision: revision}
		return nil, fetched.invalid(err, "", path.Clean(chosen.Spec.Path))
	}
	s.Files = within(path.Clean("./"+chosen.Spec.Path), s.Revision.Pools)
	return s, nil
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

// only returns the one of several refs that the repository has.
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
		return git.Ref{}, hint.Add(fmt.Errorf("%w, nor a branch of that name", missing), source.Hint(missing))
	case len(found) == 0:
		return git.Ref{}, missing
	case len(found) > 1:
		return git.Ref{}, hint.Add(fmt.Errorf("the repository has a branch and a tag %q", found[0].Branch),
			fmt.Sprintf("say which one with --ref refs/heads/%[1]s or --ref refs/tags/%[1]s", found[0].Branch))
	}
	return found[0], nil
}

// notTaken says what a source does where it cannot take a revision.
func notTaken(err error) error {
	if !errors.Is(err, source.ErrPathMissing) && !errors.Is(err, source.ErrPathEmpty) {
		return err
	}
	return hint.Add(err, source.Hint(err)+"; a source that finds this changes nothing and prunes nothing")
}
