package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/daemon"
)

func (o *runOptions) config() (*rest.Config, error) {
	config, err := connect.KubeconfigOrPod(o.kubeconfig, o.context)
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.build.UserAgent()
	// Every event of a watch would be packed there and unpacked here. That takes
	// more than it saves where the two are near each other.
	config.DisableCompression = true
	return config, nil
}

// missingPolicies names the admission policies that the cluster does not have. A policy
// that this user may not read counts as there.
func missingPolicies(ctx context.Context, config *rest.Config) []string {
	ctx, cancel := context.WithTimeout(ctx, connect.DialTimeout)
	defer cancel()
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil // what asks next reports it
	}
	var missing []string
	for _, name := range []string{manifests.Name, manifests.StatusPolicyName} {
		err := asking.RESTClient().Get().AbsPath("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/" + name).Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			missing = append(missing, name)
		}
	}
	return missing
}

// demandNodePools refuses a cluster that does not know our kinds.
func demandNodePools(ctx context.Context, config *rest.Config) error {
	err := daemon.Served(ctx, config)
	if errors.As(err, new(*daemon.NotServedError)) {
		return hint.Add(err, "install the custom resource definitions: nodepools install --crds-only | kubectl apply --server-side -f -")
	}
	return err
}
