package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/connect"
)

func (o *runOptions) config() (*rest.Config, error) {
	config, err := connect.Kubeconfig(o.kubeconfig, o.context)
	// Who names a context means no other cluster, and not the one around the pod.
	if none := (*connect.NoClusterError)(nil); errors.As(err, &none) && o.context == "" {
		if config, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
			return nil, hint.Add(fmt.Errorf("%w, and this is not a pod", none), none.Hint())
		}
		if err == nil {
			config = connect.Tuned(config)
		}
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.build.UserAgent()
	// Every event of a watch would be packed there and unpacked here. That takes
	// more than it saves where the two are near each other.
	config.DisableCompression = true
	return config, nil
}

// demandNodePools asks the API server whether it knows our kinds: without them
// the controller would wait for its caches and in the end say no more than that
// they did not come.
func demandNodePools(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, connect.DialTimeout)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	group := v1.GroupVersion.String()
	served := &metav1.APIResourceList{}
	err = client.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(served)
	if err != nil && !apierrors.IsNotFound(err) {
		return connect.Explain(err, connect.ServerName(config), connect.DialTimeout)
	}
	for _, name := range []string{"nodepools", "nodepoolsources"} {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			return hint.Add(
				fmt.Errorf("the cluster does not know %s of %s", name, group),
				"install the custom resource definitions: nodepools install --crds-only | kubectl apply --server-side -f -",
			)
		}
	}
	return nil
}
