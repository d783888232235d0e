package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/preview/compare"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/folder"
)

// layers are the folders that pools are read from, of which later ones change earlier
// ones; none stands for all of the folder.
type layers []string

func (l *layers) register(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar((*[]string)(l), "layer", nil, usage)
	complete.Flag(cmd, "layer", complete.Folders)
}

// check refuses what can be no layers. A shell that completes a folder puts a slash
// behind it.
func (l layers) check() error {
	for i, layer := range l {
		if l[i] = strings.TrimSuffix(layer, "/"); layer == "" {
			return empty("layer")
		}
	}
	if err := render.CheckLayers(l); err != nil {
		return usageError{fmt.Errorf("--layer: %w", err)}
	}
	return nil
}

// loadPools reads the pools of a folder or of one file in layers.
func loadPools(path string, layers ...string) (*folder.Pools, error) {
	pools, err := folder.Load(path, layers...)
	return pools, layersOfFile(err)
}

// layersOfFile makes a wrong command line of layers within what is no folder.
func layersOfFile(err error) error {
	if file := (*folder.NoFolderError)(nil); errors.As(err, &file) {
		return usagef("--layer requires PATH to be a folder, and %s is a file", file.Path)
	}
	return err
}

// layersOfClusters are the layers that clusters read, by their inventories.
type layersOfClusters struct {
	inventories []string
	source      string
}

func (l *layersOfClusters) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&l.inventories, "inventory", nil, "check the layers that the source in this `file` reads; repeat it for each cluster")
	cmd.Flags().StringVar(&l.source, "source", "", "`name` of the NodePoolSource of --inventory (default: the only one)")
	complete.Flag(cmd, "inventory", complete.Files("json", "yaml", "yml"))
	complete.Flag(cmd, "source", complete.Nothing)
}

func (l *layersOfClusters) check(cmd *cobra.Command) error {
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	if err := refuseEmpty(cmd, "source"); err != nil {
		return err
	}
	switch {
	case slices.Contains(l.inventories, ""):
		return empty("inventory")
	case given("source") && !given("inventory"):
		return usagef("--source requires --inventory, which says what layers the source reads")
	case given("inventory") && given("layer"):
		return excluding("--layer", "--inventory", "the layers are those that are named, or those of the source")
	}
	return nil
}

// find returns the layers of each cluster, each list once. An inventory that cannot be
// read is no problem of the pools.
func (l *layersOfClusters) find() ([][]string, error) {
	all, err := compare.LayersOf(l.inventories, l.source)
	if err != nil {
		return nil, &outcome{code: exitUsage, err: err}
	}
	return all, nil
}
