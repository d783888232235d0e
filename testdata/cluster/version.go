package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// Before reports whether the API server is of an earlier version of Kubernetes, for what
// is otherwise there.
func (c *Cluster) Before(major, minor uint) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return false, fmt.Errorf("make a client: %w", err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		return false, fmt.Errorf("ask the API server for its version: %w", err)
	}
	server, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return false, fmt.Errorf("version of the API server: %w", err)
	}
	return server.LessThan(version.MajorMinor(major, minor)), nil
}
