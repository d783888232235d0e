package observe

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// NodesPath is where the API server has the nodes.
const NodesPath = "/api/v1/nodes"

// PoolsPath and SourcesPath are where it has the NodePools and their sources.
var (
	PoolsPath   = "/apis/" + v1.GroupVersion.String() + "/nodepools"
	SourcesPath = "/apis/" + v1.GroupVersion.String() + "/nodepoolsources"
)

// Names lists the names of all objects at a path, and reads nothing else of
// them: the API server is asked for a table without the objects. It may be a moment old.
func Names(ctx context.Context, config *rest.Config, path string) ([]string, error) {
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
