package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/local"
)

// poolFiles are the pools that PATH holds.
type poolFiles struct {
	path        string
	single      bool // PATH is a file
	layers      []string
	definitions []render.Definition
}

// loadPools reads the pools of a folder or of one file. In a working tree of Git they
// are refused where a commit of them would be another than they seem.
func loadPools(path string, layers ...string) (*poolFiles, error) {
	snapshot, err := local.Checkout(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && len(layers) > 0 {
		return nil, usagef("--layer requires PATH to be a folder, and %s is a file", path)
	}
	return (&poolFiles{path: path, single: !info.IsDir(), layers: layers}).load(snapshot)
}

// loadRevision reads the pools that a folder of a clone has in a revision, whatever is
// on disk.
func loadRevision(ctx context.Context, path, revision string, layers ...string) (*poolFiles, error) {
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
	return (&poolFiles{path: path, layers: layers}).load(snapshot)
}

func (f *poolFiles) load(snapshot *source.Snapshot) (*poolFiles, error) {
	var err error
	f.definitions, err = render.Load(snapshot.Files, f.layers...)
	if problems := (render.Problems)(nil); errors.As(err, &problems) {
		return nil, f.invalid(problems)
	}
	return f, err
}

// invalid names the files as the user would open them: from where he is, and not
// from PATH.
func (f *poolFiles) invalid(problems render.Problems) error {
	for i := range problems {
		problems[i].File = f.fromHere(problems[i].File)
	}
	return problems.In(f.path)
}

func (f *poolFiles) fromHere(name string) string {
	folder := f.path
	if f.single {
		folder = filepath.Dir(f.path)
	}
	return filepath.Join(folder, filepath.FromSlash(name))
}

// warnings are those of all pools, in the order in which a reader of the files
// meets what they are about.
func (f *poolFiles) warnings() []render.Warning {
	var all []render.Warning
	for _, definition := range f.definitions {
		all = append(all, definition.Warnings...)
	}
	slices.SortStableFunc(all, func(a, b render.Warning) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for i := range all {
		all[i].File = f.fromHere(all[i].File)
	}
	return all
}

// noPools is the error of a command that has no use for a folder without pools.
func (f *poolFiles) noPools() error {
	return hint.Add(
		fmt.Errorf("no pools in %s", f.path),
		"pools are read from files that end in .yaml or .yml, in all folders whose names do not begin with a dot",
	)
}

// printProblems prints each problem and, indented, what to do about it.
func printProblems(w io.Writer, problems render.Problems) {
	for _, problem := range problems {
		fmt.Fprintln(w, problem)
		if problem.Hint != "" {
			fmt.Fprintln(w, "    "+problem.Hint)
		}
	}
}
