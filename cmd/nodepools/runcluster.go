package main

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/session"
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

// demandNodePools refuses a cluster that does not know our kinds.
func demandNodePools(ctx context.Context, config *rest.Config) error {
	err := session.Served(ctx, config)
	if errors.As(err, new(*session.NotServedError)) {
		return hint.Add(err, "install the custom resource definitions: nodepools install --crds-only | kubectl apply --server-side -f -")
	}
	return err
}
