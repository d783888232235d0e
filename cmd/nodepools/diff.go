package main

import (
	"context"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/review"
)

func newDiff(std streams) *cobra.Command {
	o := diffOptions{build: readBuildInfo(version, debug.ReadBuildInfo)}
	cmd := &cobra.Command{
		Use:   "diff PATH",
		Short: "Show what pool files would change in a cluster",
		Long: `Compares the pools in a folder with a cluster and prints what 'nodepools run'
would change, found by the same code: pools, RuntimeClasses and nodes, what it
would leave alone, and why. Nothing is written; the right to list nodes,
runtimeclasses, nodepools and nodepoolsources is enough.

PATH stands for the whole of a NodePoolSource: pools that the source has in the
cluster and that PATH lacks would be deleted, as far as the source's prune
settings allow. The source is the one of the cluster, or that of --source where
there are several. Where there is none, nothing would be deleted, and the pools
are compared as kubectl apply would bring them. If PATH is a file, other pools
are left out of the comparison.

The exit code is 0 when nothing would change, 1 when something would, and 2 for
an error.

` + failOnHelp(),
		Example: `  nodepools diff pools/

  # against another cluster
  nodepools diff pools/ --context production

  # where several sources share the cluster
  nodepools diff pools/ --source team-a`,
		Args: onePath,
		RunE: work(exitUsage, func(cmd *cobra.Command, args []string) error {
			o.path = args[0]
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().StringVar(&o.source, "source", "", "`name` of the NodePoolSource to compare as (default: the only one)")
	cmd.Flags().BoolVar(&o.exitZero, "exit-zero", false, "exit with 0 where something would change, too")
	o.failOn.register(cmd)
	o.output.register(cmd)
	o.cluster.register(cmd)
	return cmd
}

type diffOptions struct {
	path, source string
	exitZero     bool
	failOn       failOn
	output       diffOutput
	cluster      clusterFlags
	build        buildInfo
}

func (o *diffOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	return o.cluster.check()
}

// run prints the review; a difference is an outcome of its own, and not an error.
func (o *diffOptions) run(ctx context.Context, std streams) error {
	files, err := loadPools(o.path)
	if err != nil {
		return err
	}
	cluster, err := connect(o.cluster, o.build.userAgent())
	if err != nil {
		return err
	}
	live, err := cluster.read(ctx)
	if err != nil {
		return err
	}
	if !live.installed {
		std.note("%s does not know NodePools, so all of them are new; see 'nodepools install'", serverName(cluster.config))
	}
	c, err := compare(files, live, o.source)
	if err != nil {
		return err
	}
	for _, note := range c.notes {
		std.note("%s", note)
	}
	nodes := len(live.Nodes)
	told, err := review.Of(review.Input{
		Compared: review.Compared{Base: "cluster " + serverName(cluster.config), Head: o.path, Source: c.source, Nodes: &nodes},
		Files:    files.definitions, Before: live.Cluster, Difference: c.Difference, Notes: c.notes,
	})
	if err != nil {
		return err
	}
	if err := o.output.print(std.out, told); err != nil {
		return err
	}
	if err := o.failOn.check(told); err != nil {
		return err
	}
	if !told.Empty() && !o.exitZero {
		return &outcome{code: exitFailed}
	}
	return nil
}
