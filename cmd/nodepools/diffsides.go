package main

import (
	"context"
	"path"
	"slices"

	"github.com/nodepools/nodepools/apply/impact"
	"github.com/nodepools/nodepools/apply/inventory"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
	"github.com/nodepools/nodepools/render"
)

// sides are the two sides of a comparison: what there is, and what comes.
type sides struct {
	// before is the cluster as it is, or as the base would have it.
	before plan.Cluster
	// revision is what comes.
	revision plan.Revision
	files    []render.Definition
	compared review.Compared
	// inventory has before and its pods; nil where pods are not known.
	inventory *inventory.Inventory
	// notes are what the reader should know of how it was compared.
	notes []string
	// single is the one file that is compared; nil for folders.
	single *poolFiles
	// cluster that before was read from; nil where none was asked.
	cluster *observe.Server
}

// sides reads what the flags say is to be compared.
func (o *diffOptions) sides(ctx context.Context) (*sides, error) {
	switch {
	case o.against.base != "":
		return o.revisionSides(ctx)
	case o.path == "":
		return o.sourceSides(ctx)
	default:
		return o.fileSides(ctx)
	}
}

// difference plans what comes.
func (s *sides) difference() (*plan.Difference, error) {
	s.revision.AssumeApproved = true
	difference, err := plan.Diff(s.revision, s.before)
	if err != nil {
		return nil, err
	}
	if s.single != nil {
		difference.Problems = slices.DeleteFunc(difference.Problems, elsewhere(s.single))
	}
	return difference, nil
}

// within names the files of pools as the reader finds them: from the root of the
// repository, or from where he is.
func within(folder string, pools []render.Definition) []render.Definition {
	named := slices.Clone(pools)
	for i := range named {
		named[i].File = path.Join(folder, named[i].File)
	}
	return named
}

// impact is what the difference does to pods; nil where none are known.
func (s *sides) impact(difference *plan.Difference) *impact.Impact {
	if s.inventory == nil {
		return nil
	}
	return impact.Of(s.inventory, difference.After(s.before))
}

// on makes a world the side that is there already.
func (s *sides) on(world *observe.State) {
	s.before, s.inventory, s.cluster = world.Cluster, world.Inventory, world.Server
	s.compared.Base = world.Name
	s.notes = append(s.notes, world.Notes...)
	if !world.NodesKnown {
		return
	}
	nodes := len(world.Nodes)
	s.compared.Nodes, s.compared.Taken = &nodes, world.Taken
	if world.Inventory != nil {
		pods := len(world.Inventory.Pods)
		s.compared.Pods = &pods
	}
}

// there is the cluster to compare with: that of --inventory, or the one that the
// kubeconfig file names.
func (o *diffOptions) there(ctx context.Context) (*observe.State, error) {
	if o.against.inventory != "" {
		return observe.File(o.against.inventory)
	}
	server, err := o.cluster.server(o.build.userAgent())
	if err != nil {
		return nil, err
	}
	return server.State(ctx)
}
