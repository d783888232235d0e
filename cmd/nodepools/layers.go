package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/render"
)

// layers are the folders that pools are read from, of which later ones change earlier
// ones; none stands for all of the folder.
type layers []string

func (l *layers) register(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar((*[]string)(l), "layer", nil, usage)
	completeFlag(cmd, "layer", folders)
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
