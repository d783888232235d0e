package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/output"
)

const adoptLong = `Reads a cluster, or an inventory of one, and writes pools for the labels and
taints that people and scripts have put on its nodes. Their conflictPolicy is
Adopt: carried out, the pools own what is there, and change none of it. Nothing
is written to the cluster.

A role that nodes have becomes the pool of its name, with what all nodes of the
role have in common. Nodes that carry more than that are put together where they
carry the same roles, labels and taints; each such group is a pool. It puts its
own role label on its nodes, as every pool does that does not choose by it: the
one label that 'nodepools diff' of these pools shows on nodes. --no-new-roles
leaves out what takes one, so that it shows none.

Members are chosen by what exactly distinguishes them from all other nodes: their role,
a label that no kubelet may set, or their names. Nodes that join later under
other names are no members then. --select-by names a label that may choose
members though a kubelet may set it, such as that of a node pool of a cloud, and
--patterns allows names such as gpu-*, where these match no other node.

Left out are labels and taints of Kubernetes, of clouds and of other programs,
as the managed fields of nodes show, or else the domains of keys; keys that
nodepools refuses; what pools have already; and what names one node. What is
left out, and why, is printed to standard error. --include takes it in, if
nodepools allows it, and --exclude leaves out more. Annotations are not adopted.`

func newAdopt(std streams) *cobra.Command {
	var o adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Write pools for what scripts have put on nodes",
		Long:  adoptLong,
		Example: `  # into a folder, a file for each pool; then see that nothing changes
  nodepools adopt --output-dir pools/
  nodepools diff pools/

  # from a cluster that somebody else has written down
  nodepools adopt --inventory production.json >pools.yaml

  # nodes of an autoscaled node pool are members as soon as they join
  nodepools adopt --select-by cloud.google.com/gke-nodepool`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	o.register(cmd)
	return cmd
}

type adoptOptions struct {
	adopt.Options
	inventory, dir string
	overwrite      bool
	cluster        clusterFlags
}

func (o *adoptOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.inventory, "inventory", "", "read the cluster in this `file`, and ask none")
	flags.StringVar(&o.dir, "output-dir", "", "write a file for each pool into this `folder`")
	flags.BoolVar(&o.overwrite, "overwrite", false, "replace files that are there")
	flags.StringSliceVar(&o.SelectBy, "select-by", nil, "`label` that may choose members")
	flags.BoolVar(&o.Patterns, "patterns", false, "choose by patterns of names, such as gpu-*")
	flags.BoolVar(&o.NoNewRoles, "no-new-roles", false, "leave out pools whose role label nodes lack")
	flags.StringSliceVar(&o.Include, "include", nil, "adopt this `key`, such as example.com/*, too")
	flags.StringSliceVar(&o.Exclude, "exclude", nil, "do not adopt this `key`, such as rack")
	complete.Flag(cmd, "inventory", complete.Files("json", "yaml", "yml"))
	complete.Flag(cmd, "output-dir", complete.Folders)
	for _, flag := range []string{"select-by", "include", "exclude"} {
		complete.Flag(cmd, flag, complete.Nothing)
	}
	o.cluster.register(cmd)
}

func (o *adoptOptions) check(cmd *cobra.Command) error {
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	if err := refuseEmpty(cmd, "inventory", "output-dir"); err != nil {
		return err
	}
	for _, flag := range []string{"kubeconfig", "context", "timeout"} {
		if given(flag) && given("inventory") {
			return excluding("--"+flag, "--inventory", "the file stands for the cluster, and none is asked")
		}
	}
	if o.overwrite && o.dir == "" {
		return usagef("--overwrite requires --output-dir, the folder with the files")
	}
	if err := o.Validate(); err != nil {
		return usagef("--%w", err) // each option is a flag of the same name
	}
	return o.cluster.check()
}

func (o *adoptOptions) run(ctx context.Context, std streams) error {
	there, err := o.there(ctx)
	if err != nil {
		return err
	}
	proposal, err := adopt.Propose(there.Cluster, o.Options)
	if err != nil {
		return err
	}
	files, err := proposal.Files()
	if err != nil {
		return err
	}
	s := adopt.Summary{Proposal: proposal, Nodes: len(there.Nodes), Files: files, Folder: o.dir, Inventory: o.inventory != ""}
	if len(there.Sources) > 0 {
		s.Source = there.Sources[0].Name
	}
	if o.dir == "" {
		err = output.Print(std.out, adopt.OneFile(files))
	} else if err = output.WriteFiles(o.dir, files, o.overwrite); err == nil {
		s.Others, err = output.OtherPoolFiles(o.dir, files)
	}
	if err != nil {
		return err
	}
	s.WriteText(std.err)
	return nil
}

// there is the cluster whose nodes are read, without its pods.
func (o *adoptOptions) there(ctx context.Context) (*observe.State, error) {
	if o.inventory != "" {
		return observe.File(o.inventory)
	}
	server, err := o.cluster.server()
	if err != nil {
		return nil, err
	}
	return server.StateWithoutPods(ctx)
}
