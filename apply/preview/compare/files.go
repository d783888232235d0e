package compare

import (
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/render"
)

// Pools are those of a folder, or of one file.
type Pools struct {
	// Path of the folder or of the file.
	Path string
	// Single is true where Path is a file. Other pools are left out of the comparison
	// then, and none is deleted.
	Single bool
	// Layers of the folder that were read; none for all of it.
	Layers      []string
	Definitions []render.Definition
}

// Files compares pools with a cluster: as the source of that name, or as the only one.
func Files(pools Pools, state *observe.State, sourceName string) (*Sides, error) {
	source, err := ChooseSource(state, sourceName)
	if err != nil {
		return nil, err
	}
	folder := pools.Path
	if pools.Single {
		folder = filepath.Dir(folder)
	}
	s := &Sides{Files: within(filepath.ToSlash(filepath.Clean(folder)), pools.Definitions), Revision: revisionOf(source), source: source}
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
func notesOnFolder(source *v1.NodePoolSource, pools Pools) []string {
	folder := path.Clean("/" + source.Spec.Path)
	here, err := filepath.Abs(pools.Path)
	if err != nil || pools.Single || strings.HasSuffix(filepath.ToSlash(here), strings.TrimSuffix(folder, "/")) {
		return nil
	}
	return []string{otherFolder(source, folder, pools.Path)}
}
