package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// auditPolicy writes down what the program asks for, so that it can be distinguished from
// all else. Patches of nodes are left out: the API server counts them, and writing
// each down would make it slower.
//
//go:embed audit-policy.yaml
var auditPolicy string

// startCluster starts the control plane and installs what the program needs on it.
func (w *world) startCluster(ctx context.Context) (err error) {
	policy := filepath.Join(w.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(strings.ReplaceAll(auditPolicy, "$PROGRAM", w.launch.user())), 0o600); err != nil {
		return err
	}
	w.cluster, err = cluster.Start(ctx, cluster.Options{Audit: true, APIServerArgs: []string{
		"--audit-policy-file=" + policy,
		// Every write of a node is another copy of it, and the rounds that are
		// compared shall find about as many.
		"--etcd-compaction-interval=30s",
	}})
	if err != nil {
		return err
	}
	config := protobuf(w.cluster.Config)
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		return err
	}
	if w.records, err = client.New(w.cluster.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if _, err := w.cluster.Apply(ctx, w.launch.installation.Manifests); err != nil {
		return err
	}
	crds := []string{"wait", "--for=condition=Established", "--timeout=60s", "crd/nodepools.nodes.lailin.xyz", "crd/nodepoolsources.nodes.lailin.xyz"}
	if _, err := w.cluster.Kubectl(ctx, crds...); err != nil {
		return err
	}
	account := w.launch.installation.Account
	accountConfig, kubeconfig, err := w.cluster.ServiceAccount(ctx, account.Namespace, account.Name)
	if err != nil {
		return err
	}
	w.launch.kubeconfig = kubeconfig
	accountClient, err := kubernetes.NewForConfig(protobuf(accountConfig))
	if err != nil {
		return err
	}
	w.account = accountClient.CoreV1().RESTClient()
	// As nodepools run connects.
	accountConfig.DisableCompression = true
	connections, err := rest.HTTPClientFor(accountConfig)
	if err != nil {
		return err
	}
	w.sparing, err = apply.NewNodeClient(accountConfig, connections)
	return err
}

// protobuf is what client-go and controller-runtime speak about nodes when they
// are let: it costs the API server least.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config
}
