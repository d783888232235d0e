package main

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

func newInventory(std streams) *cobra.Command {
	var o inventoryOptions
	cmd := &cobra.Command{
		Use:   "inventory",
		Short: "Write down a cluster, for reviews without a way to it",
		Long: `Reads a cluster and prints as much of it as 'nodepools diff --inventory' needs
to predict what a change of pools does to nodes and pods: nodes, NodePools and
their sources, RuntimeClasses, pods, what makes them, and PodDisruptionBudgets.
Commit the file, and let a nightly job keep it fresh.

There is no Secret in it, no environment variable and no image. Of annotations
of nodes it has the values that pools are about; of all others the key alone.
Who set labels and taints is in it, by field manager.

Nothing is written to the cluster. 'nodepools install --viewer' prints a role
that may list what is read, and nothing else.`,
		Example: `  nodepools inventory --output-file inventory.json

  # of another cluster
  nodepools inventory --context production --output-file production.json

  # what a change would do, without the cluster
  nodepools diff --base refs/remotes/origin/main \
    --inventory inventory.json`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	o.output.register(cmd, "json", "yaml")
	o.cluster.register(cmd)
	return cmd
}

type inventoryOptions struct {
	output  outputFlags
	cluster clusterFlags
}

func (o *inventoryOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	return o.cluster.check()
}

func (o *inventoryOptions) run(ctx context.Context, std streams) error {
	server, err := o.cluster.server()
	if err != nil {
		return err
	}
	taken, err := server.Inventory(ctx, false)
	if err != nil {
		return err
	}
	if !taken.Installed {
		std.note("%s does not know NodePools, so the inventory has none; see 'nodepools install'", server.Name())
	}
	write := inventory.Write
	if o.output.format == "yaml" {
		write = inventory.WriteYAML
	}
	var document bytes.Buffer
	if err := write(&document, taken.Inventory); err != nil {
		return err
	}
	return o.output.write(std.out, document.Bytes())
}
