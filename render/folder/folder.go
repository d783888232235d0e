// Package folder reads the pools of a folder or of one file on this machine, or of a
// revision of the clone around it, and names files as the user would open them. Start
// with [Load].
package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/local"
)

// Pools are those of a folder, or of one file.
type Pools struct {
	Path        string
	Single      bool // Path is a file
	Layers      []string
	Definitions []render.Definition
}

// NoFolderError says that layers were asked for of what is no folder.
type NoFolderError struct{ Path string }

func (e *NoFolderError) Error() string {
	return "layers are folders within a folder, and " + e.Path + " is a file"
}

// Load reads the pools of a folder or of one file. In a working tree of Git they
// are refused where a commit of them would be another than they seem.
func Load(path string, layers ...string) (*Pools, error) {
	snapshot, err := local.Checkout(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && len(layers) > 0 {
		return nil, &NoFolderError{Path: path}
	}
	return (&Pools{Path: path, Single: !info.IsDir(), Layers: layers}).load(snapshot)
}

// LoadRevision reads the pools that a folder of a clone has in a revision, whatever is
// on disk.
func LoadRevision(ctx context.Context, path, revision string, layers ...string) (*Pools, error) {
	repository, err := local.Open(path)
	if err != nil {
		return nil, err
	}
	folder, err := repository.Folder(path)
	if err != nil {
		return nil, err
	}
	found, err := repository.Resolve(ctx, revision)
	if err != nil {
		return nil, err
	}
	snapshot, err := repository.Snapshot(ctx, found, folder)
	if err != nil {
		return nil, err
	}
	return (&Pools{Path: path, Layers: layers}).load(snapshot)
}

func (p *Pools) load(snapshot *source.Snapshot) (*Pools, error) {
	var err error
	p.Definitions, err = render.Load(snapshot.Files, p.Layers...)
	if problems := (render.Problems)(nil); errors.As(err, &problems) {
		return nil, p.invalid(problems)
	}
	return p, err
}

// invalid names the files as the user would open them: from where he is, and not
// from PATH.
func (p *Pools) invalid(problems render.Problems) error {
	for i := range problems {
		problems[i].File = p.fromHere(problems[i].File)
	}
	return problems.In(p.Path)
}

func (p *Pools) fromHere(name string) string {
	folder := p.Path
	if p.Single {
		folder = filepath.Dir(p.Path)
	}
	return filepath.Join(folder, filepath.FromSlash(name))
}

// Warnings are those of all pools, in the order in which a reader of the files
// meets what they are about.
func (p *Pools) Warnings() []render.Warning {
	var all []render.Warning
	for _, definition := range p.Definitions {
		all = append(all, definition.Warnings...)
	}
	slices.SortStableFunc(all, func(a, b render.Warning) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for i := range all {
		all[i].File = p.fromHere(all[i].File)
	}
	return all
}

// File is where a definition stands, as the user would open it.
func (p *Pools) File(definition render.Definition) string { return p.fromHere(definition.File) }

// EmptyError is the error of a command that has no use for a folder without pools.
func (p *Pools) EmptyError() error {
	return hint.Add(
		fmt.Errorf("no pools in %s", p.Path),
		"pools are read from files that end in .yaml or .yml, in all folders whose names do not begin with a dot",
	)
}
