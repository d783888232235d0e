package compare

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/folder"
)

// Folder compares the pools in a folder, or in one file, with a cluster, as [Files] does.
// They are read in layers: those that are named, or else those of the source. The cluster
// is read after the files, as it takes longer to have an answer.
func Folder(path string, layers []string, sourceName string, cluster func() (*observe.State, error)) (*Sides, error) {
	files, refused := folder.Load(path, layers...)
	// Files that are wrong by themselves may be right in the layers of the source.
	if invalid := (*render.InvalidError)(nil); refused != nil && (layers != nil || !errors.As(refused, &invalid)) {
		return nil, refused
	}
	if refused == nil && files.Single && len(files.Definitions) == 0 {
		return nil, files.EmptyError() // a folder may be meant to have none
	}
	state, err := cluster()
	if err != nil {
		return nil, cmp.Or(refused, err)
	}
	if layers == nil {
		if files, err = inLayersOfSource(path, files, refused, state, sourceName); err != nil {
			return nil, err
		}
	}
	return Files(files, state, sourceName)
}

// inLayersOfSource reads files in the layers of the source that they are compared as.
// Where it has none, what was read without any is it, or the error of that.
func inLayersOfSource(path string, files *folder.Pools, refused error, state *observe.State, sourceName string) (*folder.Pools, error) {
	src, err := ChooseSource(state, sourceName)
	switch {
	case err != nil || src == nil || len(src.Spec.Layers) == 0:
		return files, cmp.Or(refused, err)
	case files != nil && files.Single:
		return nil, hint.Add(fmt.Errorf("%s is a file, and NodePoolSource %q reads its folder in layers", path, src.Name), "name the folder: what the file says may depend on the other layers")
	}
	return folder.Load(path, src.Spec.Layers...)
}

// Files compares pools with a cluster: as the source of that name, or as the only one.
func Files(pools *folder.Pools, state *observe.State, sourceName string) (*Sides, error) {
	source, err := ChooseSource(state, sourceName)
	if err != nil {
		return nil, err
	}
	dir := pools.Path
	if pools.Single {
		dir = filepath.Dir(dir)
	}
	s := &Sides{Files: within(filepath.ToSlash(filepath.Clean(dir)), pools.Definitions), Revision: revisionOf(source), source: source}
	s.on(state)
	s.Revision.Pools, s.Compared.Head, s.Compared.Source = pools.Definitions, pools.Path, s.Revision.Source
	if source != nil {
		s.Notes = append(s.Notes, notesOn(source)...)
		s.Notes = append(s.Notes, notesOnFolder(source, pools)...)
		s.Notes = append(s.Notes, notesOnLayers(source, pools.Layers)...)
	}
	if pools.Single {
		s.Revision.Prune.Enabled = false
		s.only = map[string]bool{}
		for _, definition := range pools.Definitions {
			s.only[definition.Pool.Name] = true
		}
		s.Notes = append(s.Notes, pools.Path+" is a file: pools that are not in it are left out")
	}
	return s, nil
}

// notesOnFolder say that files are not those of the source's folder. The place
// in the file is part of each record, so another folder makes a difference of
// every pool.
func notesOnFolder(source *v1.NodePoolSource, pools *folder.Pools) []string {
	dir := path.Clean("/" + source.Spec.Path)
	here, err := filepath.Abs(pools.Path)
	if err != nil || pools.Single || strings.HasSuffix(filepath.ToSlash(here), strings.TrimSuffix(dir, "/")) {
		return nil
	}
	return []string{otherFolder(source, dir, pools.Path)}
}
