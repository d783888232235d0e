package main

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// defaultTimeout bounds all requests of one command together.
const defaultTimeout = 30 * time.Second

// clusterFlags say which cluster a command reads, and how long it may take.
type clusterFlags struct {
	kubeconfig, context string
	timeout             time.Duration
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	registerKubeconfig(cmd, &f.kubeconfig, &f.context)
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "time for all requests together")
	complete.Flag(cmd, "timeout", complete.Nothing)
}

// registerKubeconfig adds the flags that say which cluster is meant.
func registerKubeconfig(cmd *cobra.Command, kubeconfig, context *string) {
	cmd.Flags().StringVar(kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().StringVar(context, "context", "", "`context` of the kubeconfig file (default: its current one)")
	complete.Flag(cmd, "kubeconfig", complete.Files())
	complete.Flag(cmd, "context", completeContext(kubeconfig))
}

func (f *clusterFlags) check() error {
	if f.timeout <= 0 {
		return usagef("--timeout must be longer than 0s, and is %s", f.timeout)
	}
	return nil
}

// config reads the kubeconfig file. It does not fall back on the cluster that
// the process runs in: in a CI job that would be the cluster of the CI system.
func (f *clusterFlags) config() (*rest.Config, error) {
	return connect.Kubeconfig(f.kubeconfig, f.context)
}

// server connects to the cluster that the flags name. Nothing is sent before the first
// list.
func (f *clusterFlags) server() (*observe.Server, error) {
	quietLibraries()
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	config.UserAgent = builtFrom().UserAgent()
	return observe.Connect(config, f.timeout)
}

// quietLibraries keeps the libraries of a command that is no server from logging
// between the command's own words.
var quietLibraries = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
})
