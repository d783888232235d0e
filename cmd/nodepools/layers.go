package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
			return usagef("--layer is empty: give it a value, or leave it out")
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
	if file := (*folder.NoFolderError)(nil); errors.As(err, &file) {
		return nil, usagef("--layer requires PATH to be a folder, and %s is a file", file.Path)
	}
	return pools, err
}
