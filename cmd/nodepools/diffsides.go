package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/preview/compare"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/folder"
	"github.com/nodepools/nodepools/source/git"
)

// sidesOf reads what the flags say is to be compared with one of several clusters.
func (o *diffOptions) sidesOf(ctx context.Context, inventory string) (*compare.Sides, error) {
	one := *o
	one.against.inventories = []string{inventory}
	return one.sides(ctx)
}

// sides reads what the flags say is to be compared.
func (o *diffOptions) sides(ctx context.Context) (*compare.Sides, error) {
	switch {
	case o.against.base != "":
		return o.revisions(ctx)
	case o.path == "":
		return o.ref(ctx)
	default:
		return o.files(ctx)
	}
}

// state is the cluster to compare with: that of --inventory, or the one that the
// kubeconfig file names.
func (o *diffOptions) state(ctx context.Context) (*observe.State, error) {
	if len(o.against.inventories) > 0 {
		return observe.File(o.against.inventories[0])
	}
	server, err := o.cluster.server(o.build.UserAgent())
	if err != nil {
		return nil, err
	}
	return server.State(ctx)
}

// files compares a cluster with the files in PATH.
func (o *diffOptions) files(ctx context.Context) (*compare.Sides, error) {
	files, refused := loadPools(o.path, o.against.layers...)
	if invalid := (*render.InvalidError)(nil); refused != nil && (o.against.layers != nil || !errors.As(refused, &invalid)) {
		return nil, refused
	}
	if refused == nil && files.Single && len(files.Definitions) == 0 {
		return nil, files.EmptyError() // a folder may be meant to have none
	}
	state, err := o.state(ctx)
	if err != nil {
		return nil, cmp.Or(refused, err)
	}
	if o.against.layers == nil {
		if files, err = o.inLayersOfSource(files, refused, state); err != nil {
			return nil, err
		}
	}
	pools := compare.Pools{Path: files.Path, Single: files.Single, Layers: files.Layers, Definitions: files.Definitions}
	return compare.Files(pools, state, o.source)
}

// inLayersOfSource reads files in the layers of the source that they are compared as.
// Where it has none, what was read without any is it, or the error of that.
func (o *diffOptions) inLayersOfSource(files *folder.Pools, refused error, state *observe.State) (*folder.Pools, error) {
	src, err := compare.ChooseSource(state, o.source)
	switch {
	case err != nil || src == nil || len(src.Spec.Layers) == 0:
		return files, cmp.Or(refused, err)
	case files != nil && files.Single:
		return nil, hint.Add(fmt.Errorf("%s is a file, and NodePoolSource %q reads its folder in layers", o.path, src.Name), "name the folder: what the file says may depend on the other layers")
	}
	return loadPools(o.path, src.Spec.Layers...)
}

// revisions compares two revisions of the repository on this machine.
func (o *diffOptions) revisions(ctx context.Context) (*compare.Sides, error) {
	var state *observe.State
	if len(o.against.inventories) > 0 {
		var err error
		if state, err = observe.File(o.against.inventories[0]); err != nil {
			return nil, err
		}
	}
	sides, err := compare.Revisions(ctx, compare.RevisionOptions{
		Base: o.against.base, Head: o.against.head, MergeBase: o.against.mergeBase,
		Path: o.path, Folder: o.against.folder, Layers: o.against.layers, Source: o.source,
	}, state)
	if file := (*compare.NoFolderError)(nil); errors.As(err, &file) {
		return nil, usageError{fmt.Errorf("%w; name the folder, or leave --base out", file)}
	}
	return sides, err
}

// ref compares a cluster with what one of its sources would take if it followed
// another ref.
func (o *diffOptions) ref(ctx context.Context) (*compare.Sides, error) {
	var refs []git.Ref
	if o.against.ref != "" {
		var err error
		if refs, err = git.ParseRef(o.against.ref); err != nil {
			return nil, usageError{fmt.Errorf("--ref: %w", err)}
		}
	}
	state, err := o.state(ctx)
	if err != nil {
		return nil, err
	}
	return compare.Ref(ctx, state, o.source, refs, o.against.layers, func(src *v1.NodePoolSource) (*git.Repository, error) {
		repository := sources.Repository(src, max(o.cluster.timeout, git.DefaultTimeout))
		return repository, o.against.login.Use(ctx, src, repository)
	})
}
