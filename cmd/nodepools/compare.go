package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
)

// fileSides are a cluster, and the files in PATH as the source of that name, or as
// the only one.
func (o *diffOptions) fileSides(ctx context.Context) (*sides, error) {
	files, err := loadPools(o.path)
	if err != nil {
		return nil, err
	}
	if files.single && len(files.definitions) == 0 {
		return nil, files.noPools() // a folder may be meant to have none
	}
	there, err := o.there(ctx)
	if err != nil {
		return nil, err
	}
	source, err := chooseSource(there, o.source)
	if err != nil {
		return nil, err
	}
	s := &sides{files: within(filepath.ToSlash(filepath.Dir(files.fromHere("x"))), files.definitions), revision: revisionOf(source)}
	s.on(there)
	s.revision.Pools, s.compared.Head, s.compared.Source = files.definitions, o.path, s.revision.Source
	if source != nil {
		s.notes = append(s.notes, notesOn(source)...)
		s.notes = append(s.notes, notesOnFolder(source, files)...)
	}
	if files.single {
		s.single, s.revision.Prune.Enabled = files, false
		s.notes = append(s.notes, files.path+" is a file: pools that are not in it are left out")
	}
	return s, nil
}

// revisionOf is a revision of a source, without its pools. No source stands for
// pools that are made by hand, and of those none is deleted.
func revisionOf(source *v1.NodePoolSource) plan.Revision {
	if source == nil {
		return plan.Revision{}
	}
	return plan.RevisionOf(source, "", nil)
}

// elsewhere reports whether a problem is one of a pool that is not in the files.
func elsewhere(files *poolFiles) func(plan.Problem) bool {
	names := map[string]bool{}
	for _, definition := range files.definitions {
		names[definition.Pool.Name] = true
	}
	return func(problem plan.Problem) bool { return problem.Pool != "" && !names[problem.Pool] }
}

// chooseSource finds the source that the files stand for; none is nil.
func chooseSource(there *observe.State, name string) (*v1.NodePoolSource, error) {
	var names []string
	for _, source := range there.Sources {
		if source.Name == name {
			return source, nil
		}
		names = append(names, source.Name)
	}
	slices.Sort(names)
	switch {
	case name != "" && len(names) == 0:
		return nil, hinted{fmt.Errorf("there is no NodePoolSource %q", name), there.Kind() + " has none at all; without --source the pools are compared with those made by hand"}
	case name != "":
		return nil, hinted{fmt.Errorf("there is no NodePoolSource %q", name), there.Kind() + " has: " + strings.Join(names, ", ")}
	case len(names) > 1:
		return nil, hinted{errors.New(there.Kind() + " has several NodePoolSources"), "say with --source which one the files are of: " + strings.Join(names, ", ")}
	case len(names) == 1:
		return there.Sources[0], nil
	}
	return nil, nil
}

// notesOn tells what keeps a source from doing what the comparison says.
func notesOn(source *v1.NodePoolSource) []string {
	var notes []string
	for _, state := range plan.SourceOutcomeOf(source).States {
		switch state {
		case plan.SourceStateDeleted, plan.SourceStateDeleting:
			notes = append(notes, fmt.Sprintf("NodePoolSource %q is being deleted: nothing is taken from its repository any more", source.Name))
		case plan.SourceStateSuspended:
			notes = append(notes, fmt.Sprintf("NodePoolSource %q is suspended: nothing changes until it is resumed", source.Name))
		case plan.SourceStatePaused:
			notes = append(notes, fmt.Sprintf("NodePoolSource %q is paused by its annotation %s: nothing changes until it is resumed", source.Name, v1.ReconcileAnnotation))
		}
	}
	return notes
}

// notesOnFolder tells that files are not those of the source's folder. The place
// in the file is part of each record, so another folder makes a difference of
// every pool.
func notesOnFolder(source *v1.NodePoolSource, files *poolFiles) []string {
	folder := path.Clean("/" + source.Spec.Path)
	here, err := filepath.Abs(files.path)
	if err != nil || files.single || strings.HasSuffix(filepath.ToSlash(here), strings.TrimSuffix(folder, "/")) {
		return nil
	}
	return []string{elsewhereInRepository(source, folder, files.path)}
}

func elsewhereInRepository(source *v1.NodePoolSource, folder, compared string) string {
	return fmt.Sprintf("NodePoolSource %q takes its pools from the folder %s of the repository, and not from %s", source.Name, strings.TrimPrefix(folder, "/"), compared)
}
