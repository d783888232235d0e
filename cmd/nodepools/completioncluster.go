package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
)

// What the API server calls the resources whose names are proposed.
const nodesPath = "/api/v1/nodes"

var sourcesPath = "/apis/" + v1.GroupVersion.String() + "/nodepoolsources"

// completeContext proposes the contexts of the kubeconfig files.
func completeContext(kubeconfig *string) cobra.CompletionFunc {
	return found(func(context.Context, []string, string) []proposal {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = *kubeconfig
		rules.WarnIfAllMissing = false
		loaded, err := rules.Load()
		if err != nil {
			return nil
		}
		var names []string
		for name := range loaded.Contexts {
			names = append(names, name)
		}
		return unexplained(names)
	})
}

// propose proposes the names of all objects at a path of the cluster that the flags
// name.
func (f *clusterFlags) propose(ctx context.Context, path string) []proposal {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	quietLibraries()
	config, err := f.unattended()
	if err != nil {
		return nil
	}
	names, err := objectNames(ctx, config, path)
	if err != nil {
		return nil
	}
	return unexplained(names)
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
func (o *diffOptions) proposeSources(ctx context.Context, _ []string, _ string) []proposal {
	switch {
	case o.against.inventory != "":
		there, err := observe.File(o.against.inventory)
		if err != nil {
			return nil
		}
		var names []string
		for _, source := range there.Sources {
			names = append(names, source.Name)
		}
		return unexplained(names)
	case o.against.base != "":
		return nil // revisions are compared without a cluster
	default:
		return o.cluster.propose(ctx, sourcesPath)
	}
}

// objectNames lists the names of all objects at a path, and reads nothing else of
// them: the API server is asked for a table without the objects. It may be a moment old.
func objectNames(ctx context.Context, config *rest.Config, path string) ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	data, err := client.RESTClient().Get().AbsPath(path).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Param("includeObject", string(metav1.IncludeNone)).
		Param("resourceVersion", "0").
		DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	names := make([]string, 0, len(table.Rows))
	for _, row := range table.Rows {
		// The first column of every table is the name.
		if len(row.Cells) > 0 {
			if name, isText := row.Cells[0].(string); isText {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
