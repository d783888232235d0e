package main

import (
	"context"

	"github.com/spf13/cobra"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/output"
)

func newRender(std streams) *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render PATH",
		Short: "Print what pool files stand for",
		Long: `Prints the RuntimeClass of each pool, as YAML. With nodes given, it also
prints what the pools want of each: a Node with the labels, annotations and
taints that they put there, and nothing else.

Nodes come from a file, as 'kubectl get nodes -o yaml' prints them, or from the
cluster that --kubeconfig or --context names. Without either no cluster is
needed. What the controller has put on a node before does not count as a reason
for it to be in a pool.

What stands on a node by another hand is not weighed here: that is for
'nodepools diff'.`,
		Example: `  nodepools render pools/

  # with the nodes of a cluster
  nodepools render pools/ --context production

  # with the nodes of a file, or of a pipe
  nodepools render pools/ --nodes nodes.yaml
  kubectl get nodes -o yaml | nodepools render pools/ --nodes -`,
		Args:              onePath,
		ValidArgsFunction: complete.PoolPath,
		RunE: work(exitFailed, func(cmd *cobra.Command, args []string) error {
			o.path = args[0]
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().StringVar(&o.nodes, "nodes", "", "`file` with the nodes to use; - for standard input")
	complete.Flag(cmd, "nodes", complete.Files("yaml", "yml", "json"))
	o.layers.register(cmd, "`folder` in PATH that is read, and changes what those before it say; repeat it for each (default: all of PATH)")
	o.output.register(cmd, objectFormats...)
	o.cluster.register(cmd)
	return cmd
}

type renderOptions struct {
	path, nodes string
	layers      layers
	output      outputFlags
	cluster     clusterFlags
}

// live reports whether the nodes are those of a cluster.
func (o *renderOptions) live() bool { return o.cluster.kubeconfig != "" || o.cluster.context != "" }

func (o *renderOptions) check() error {
	if o.nodes != "" && o.live() {
		return usagef("--nodes and --kubeconfig or --context exclude each other: the nodes come from one place")
	}
	if err := o.layers.check(); err != nil {
		return err
	}
	if err := o.output.check(); err != nil {
		return err
	}
	return o.cluster.check()
}

func (o *renderOptions) run(ctx context.Context, std streams) error {
	files, err := loadPools(o.path, o.layers...)
	if err != nil {
		return err
	}
	if len(files.Definitions) == 0 {
		return files.EmptyError()
	}
	var pools []*v1.NodePool
	for _, definition := range files.Definitions {
		pools = append(pools, definition.Pool)
	}
	expansion := render.Expand(pools)
	var objects []any
	for _, pool := range pools {
		if err := expansion.Problem(pool.Name); err != nil {
			return err
		}
		if class := expansion.RuntimeClass(pool.Name); class != nil {
			objects = append(objects, class)
		}
	}
	nodes, err := o.readNodes(ctx, std)
	if err != nil {
		return err
	}
	patches, undecided, err := plan.NodePatches(nodes, expansion)
	if err != nil {
		return err
	}
	for _, conflict := range undecided {
		std.note("%s", conflict)
	}
	document, err := output.MarshalObjects(o.output.format, append(objects, patches...)...)
	if err != nil {
		return err
	}
	return o.output.write(std.out, document)
}

func (o *renderOptions) readNodes(ctx context.Context, std streams) ([]*plan.NodeState, error) {
	switch {
	case o.nodes != "":
		return nodesFile(o.nodes, std.in)
	case o.live():
		server, err := o.cluster.server()
		if err != nil {
			return nil, err
		}
		nodes, _, err := server.Nodes(ctx)
		return nodes, err
	default:
		return nil, nil
	}
}
