package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// comparison is what files would change in a cluster, without a word of how that
// is printed.
type comparison struct {
	*plan.Difference
	// source is the name of the NodePoolSource that the files stand for; empty
	// where they stand for none.
	source string
	// notes are what the reader should know of how it was compared.
	notes []string
}

// compare plans what the files would change, as the source of that name, or as
// the only one.
func compare(files *poolFiles, live *contents, sourceName string) (*comparison, error) {
	source, err := chooseSource(live, sourceName)
	if err != nil {
		return nil, err
	}
	c := &comparison{}
	revision := plan.Revision{Pools: files.definitions, Departed: plan.Departed(live.Pools, live.sources)}
	if source != nil {
		c.source, revision.Source = source.Name, source.Name
		revision.Prune = plan.PrunePolicyOf(source)
		c.notes = notesOn(source, files)
	}
	if files.single {
		revision.Prune.Enabled = false
		c.notes = append(c.notes, files.path+" is a file: pools that are not in it are left out")
	}
	if c.Difference, err = plan.Diff(revision, live.Cluster); err != nil {
		return nil, err
	}
	if files.single {
		c.Problems = slices.DeleteFunc(c.Problems, elsewhere(files, c.Pools.After(live.Pools)))
	}
	return c, nil
}

// ofPool finds the pool that a problem begins with.
var ofPool = regexp.MustCompile(`^pool "([^"]+)"`)

// elsewhere tells whether a problem is one of a pool that is not in the files.
// That of a pool which encloses one of theirs is theirs too.
func elsewhere(files *poolFiles, pools []*v1.NodePool) func(error) bool {
	expansion := render.Expand(pools)
	names, texts := map[string]bool{}, map[string]bool{}
	for _, definition := range files.definitions {
		names[definition.Pool.Name] = true
		if problem := expansion.Problem(definition.Pool.Name); problem != nil {
			texts[problem.Error()] = true
		}
	}
	return func(problem error) bool {
		pool, text := "", problem.Error()
		if foreign := (*plan.ForeignError)(nil); errors.As(problem, &foreign) {
			pool = foreign.Pool
		} else if found := ofPool.FindStringSubmatch(text); found != nil {
			pool = found[1]
		}
		return pool != "" && !names[pool] && !texts[text]
	}
}

// chooseSource finds the source that the files stand for; none is nil.
func chooseSource(live *contents, name string) (*v1.NodePoolSource, error) {
	var names []string
	for _, source := range live.sources {
		if source.Name == name {
			return source, nil
		}
		names = append(names, source.Name)
	}
	slices.Sort(names)
	switch {
	case name != "" && len(names) == 0:
		return nil, hinted{fmt.Errorf("there is no NodePoolSource %q", name), "the cluster has none at all; without --source the pools are compared with those made by hand"}
	case name != "":
		return nil, hinted{fmt.Errorf("there is no NodePoolSource %q", name), "the cluster has: " + strings.Join(names, ", ")}
	case len(names) > 1:
		return nil, hinted{errors.New("the cluster has several NodePoolSources"), "say with --source which one the files are of: " + strings.Join(names, ", ")}
	case len(names) == 1:
		return live.sources[0], nil
	}
	return nil, nil
}

// notesOn tells what keeps a source from doing what the comparison says.
func notesOn(source *v1.NodePoolSource, files *poolFiles) []string {
	var notes []string
	if !source.DeletionTimestamp.IsZero() {
		notes = append(notes, fmt.Sprintf("NodePoolSource %q is being deleted: nothing is taken from its repository any more", source.Name))
	}
	if source.Spec.Suspend {
		notes = append(notes, fmt.Sprintf("NodePoolSource %q is suspended: nothing changes until it is resumed", source.Name))
	}
	if v1.IsDisabled(source, v1.ReconcileAnnotation) {
		notes = append(notes, fmt.Sprintf("NodePoolSource %q is paused by its annotation %s: nothing changes until it is resumed", source.Name, v1.ReconcileAnnotation))
	}
	// The place in the file is part of each record, so another folder makes a
	// difference of every pool.
	folder := path.Clean("/" + source.Spec.Path)
	if here, err := filepath.Abs(files.path); err == nil && !files.single && !strings.HasSuffix(filepath.ToSlash(here), strings.TrimSuffix(folder, "/")) {
		notes = append(notes, fmt.Sprintf("NodePoolSource %q takes its pools from the folder %s of the repository, and not from %s", source.Name, strings.TrimPrefix(folder, "/"), files.path))
	}
	return notes
}
