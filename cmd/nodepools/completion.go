package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// completeContext proposes the contexts of the kubeconfig files.
func completeContext(kubeconfig *string) cobra.CompletionFunc {
	return complete.Found(func(context.Context, []string, string) []complete.Proposal {
		return complete.Named(connect.Contexts(*kubeconfig))
	})
}

// propose proposes the names of all objects at a path of the cluster that the flags
// name.
func (f *clusterFlags) propose(ctx context.Context, path string) []complete.Proposal {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	quietLibraries()
	config, err := f.unattended()
	if err != nil {
		return nil
	}
	names, err := observe.Names(ctx, config, path)
	if err != nil {
		return nil
	}
	return complete.Named(names)
}

// unattended reads the kubeconfig file. A credential plugin that asks something fails,
// as it would ask it in the middle of a command line.
func (f *clusterFlags) unattended() (*rest.Config, error) {
	config, err := f.config()
	if err == nil && config.ExecProvider != nil {
		config.ExecProvider.StdinUnavailable = true
	}
	return config, err
}

// proposeSources proposes the sources of the cluster, or of the file that stands for
// it.
func (o *diffOptions) proposeSources(ctx context.Context, _ []string, _ string) []complete.Proposal {
	switch {
	case len(o.against.inventories) > 0:
		there, err := observe.File(o.against.inventories[0])
		if err != nil {
			return nil
		}
		var names []string
		for _, source := range there.Sources {
			names = append(names, source.Name)
		}
		return complete.Named(names)
	case o.against.base != "":
		return nil // revisions are compared without a cluster
	default:
		return o.cluster.propose(ctx, observe.SourcesPath)
	}
}
