package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/uninstall"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

func newUninstall(std streams) *cobra.Command {
	var o uninstallOptions
	cmd := &cobra.Command{
		Use:   "uninstall --plan",
		Short: "Show what would stay on nodes, and the steps to uninstall",
		Long: `Shows what would stay on nodes if the controller were uninstalled now: the
labels, annotations and taints of each pool, the values of others that would not
be restored, and the nodes of which that is not known; and the steps, in their
order, by which nothing stays. It is the controller that cleans nodes, so what
pools have put there goes while it still runs.

Pools that are being deleted still follow their rollout: where there is one, a
step takes it off, so that no window, pause, approval or budget keeps nodes from
being released. Where Helm has installed the controller, helm uninstall removes
it. No step deletes the namespace, as others may have something in it.

Nothing is removed and nothing is written: --plan is all that there is. The
rights that 'nodepools install --viewer' gives are enough.

-o yaml and -o json print the whole, in fields that stay: cluster, clean, nodes
(their number), pools (name, exists, paused, nodes, labels, annotations, taints,
takenOver, adopted), unreadable, pausedNodes and steps (why, command).

The exit code is 0 when nothing would stay, 1 when something would, and above 1
when the cluster could not be read or the command line is wrong.`,
		Example: `  nodepools uninstall --plan

  # the nodes that would keep something of a pool, for a script
  nodepools uninstall --plan -o json | jq -r '.pools[].nodes[]' | sort -u`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitUsage, func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().BoolVar(&o.plan, "plan", false, "show what would stay, and what to do")
	cmd.Flags().StringVar(&o.namespace, "namespace", manifests.DefaultNamespace, "`name` of the controller's namespace, for the commands")
	complete.Flag(cmd, "namespace", complete.Nothing)
	o.output.register(cmd, "text", "json", "yaml")
	o.cluster.register(cmd)
	return cmd
}

type uninstallOptions struct {
	plan      bool
	namespace string
	output    outputFlags
	cluster   clusterFlags
}

func (o *uninstallOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	if !o.plan {
		return usagef("uninstall requires --plan: it shows the steps, and removes nothing itself")
	}
	if err := (manifests.Options{Namespace: o.namespace, Image: manifests.DefaultRepository}).Validate(); err != nil {
		return usagef("--%w", err)
	}
	return o.cluster.check()
}

// run prints the plan. That something would stay is an exit code, and no error.
func (o *uninstallOptions) run(ctx context.Context, std streams) error {
	server, err := o.cluster.server()
	if err != nil {
		return err
	}
	state, err := server.StateWithoutPods(ctx)
	if err != nil {
		return err
	}
	in := uninstall.Installation{Namespace: o.namespace, Definitions: state.Installed}
	if in.Helm, err = o.release(ctx, server); err != nil {
		return err
	}
	plan := uninstall.Of(server.Name(), state.Cluster, state.Sources, in)
	if err := o.output.writeDocument(std.out, plan, plan.WriteText); err != nil {
		return err
	}
	if !plan.Clean {
		return &outcome{code: exitFailed}
	}
	return nil
}

// release returns the release of Helm that the controller belongs to. What a release has
// is of the cluster for the most part, so one in another namespace counts as well, unless
// there is a controller in the one that the user names.
func (o *uninstallOptions) release(ctx context.Context, server *observe.Server) (*uninstall.Release, error) {
	deployments, err := server.Controllers(ctx)
	if err != nil {
		return nil, err
	}
	var found *uninstall.Release
	for _, d := range deployments {
		release := uninstall.ReleaseOf(d.Labels, d.Annotations)
		if d.Namespace == o.namespace {
			return release, nil
		}
		if found == nil {
			found = release
		}
	}
	return found, nil
}
