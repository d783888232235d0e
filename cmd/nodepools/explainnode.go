package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/explain"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

func newExplainNode(std streams) *cobra.Command {
	var o explainNodeOptions
	cmd := &cobra.Command{
		Use:     "node NAME",
		Aliases: []string{"nodes", "no"},
		Short:   "Show who owns each label, annotation and taint of a node",
		Long: `Shows who owns each label, annotation and taint of a node in the cluster: a
pool, with the file and the revision that the pool comes from, or somebody else,
with the field manager that set it, where the API server has recorded one. It
shows every conflict, what a pool has taken over, what is shared with others, and
what 'nodepools run' would write now, found by the same code; and of changes that
wait, because the windows of pools are closed, what for and until when. Nothing is
written; the right to list nodes and nodepools is enough.

The API server records who wrote the list of taints last as a whole, so of a
single taint of somebody else it is not known who put it there.

Text shortens long values; -o yaml and -o json print them whole, in fields that
stay: node, paused, problem, pools (name, member, state, deleting, problem,
chosenBy, parent, source, file, revision, wait), keys (field, key, value, owner,
pool, recorded, before, adopted, wantedBy, setBy, due, after, waits, later,
conflicts, contests) and record, which is what the pools have put on the node. The owner of a key is pool,
shared, other, kubernetes, controller (the record itself) or, where the record
cannot be read, unknown. A key with due is one about which
something is about to be written; after is the value that it has then, and none
when it goes. Of a key with waits, later is the value that it has when the node
follows its pools; wait of a pool has for, nextWindow and message.

The exit code is 0 when the node was explained, 1 when its record cannot be
read or the cluster cannot, and 2 for a wrong command line.`,
		Example: `  nodepools explain node gpu-1

  # what is in conflict, for a script
  nodepools explain node gpu-1 -o json \
    | jq '.keys[] | select(.conflicts)'`,
		Args: oneArgument("NAME", "the name of the node", ""),
		ValidArgsFunction: complete.OnlyFirst(complete.Found(func(ctx context.Context, _ []string, _ string) []complete.Proposal {
			return o.cluster.propose(ctx, observe.NodesPath)
		})),
		RunE: work(exitFailed, func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	o.output.register(cmd, "text", "json", "yaml")
	o.cluster.register(cmd)
	return cmd
}

type explainNodeOptions struct {
	name    string
	output  outputFlags
	cluster clusterFlags
}

func (o *explainNodeOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	return o.cluster.check()
}

// run prints the explanation. A record that cannot be read is an error after all
// the rest is printed.
func (o *explainNodeOptions) run(ctx context.Context, std streams) error {
	server, err := o.cluster.server()
	if err != nil {
		return err
	}
	live, err := o.read(ctx, server)
	if err != nil {
		return err
	}
	if !live.Installed {
		std.note("%s does not know NodePools: no controller works there, and nothing is written", server.Name())
	}
	explanation := explain.Node(live.Node, live.Pools, time.Now())
	if err := o.output.writeDocument(std.out, explanation, explanation.WriteText); err != nil {
		return err
	}
	return explanation.Err()
}

// read reads the node. Where there is none, the error proposes others.
func (o *explainNodeOptions) read(ctx context.Context, server *observe.Server) (*observe.Node, error) {
	live, err := server.Node(ctx, o.name)
	switch missing := (*observe.NoNodeError)(nil); {
	case apierrors.IsForbidden(err):
		return nil, hint.Add(err, "the user needs the right to list nodes and nodepools")
	case !errors.As(err, &missing):
		return live, err
	case len(missing.Near) == 0:
		return nil, hint.Add(err, "'kubectl get nodes' lists those that there are")
	default:
		return nil, hint.Add(err, "did you mean "+strings.Join(missing.Near, ", ")+"?")
	}
}
