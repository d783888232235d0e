package main

import (
	"context"
	"errors"
	"fmt"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/preview/compare"
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
	server, err := o.cluster.server()
	if err != nil {
		return nil, err
	}
	return server.State(ctx)
}

// files compares a cluster with the files in PATH.
func (o *diffOptions) files(ctx context.Context) (*compare.Sides, error) {
	sides, err := compare.Folder(o.path, o.against.layers, o.source, func() (*observe.State, error) { return o.state(ctx) })
	return sides, layersOfFile(err)
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
