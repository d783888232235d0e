package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Before reports whether the API server is of an earlier version of Kubernetes, for what
// is otherwise there.
func (c *Cluster) Before(major, minor uint) (bool, error) {
	info, err := Version(c.Config)
	if err != nil {
		return false, err
	}
	server, err := version.ParseGeneric(info)
	if err != nil {
		return false, fmt.Errorf("version of the API server: %w", err)
	}
	return server.LessThan(version.MajorMinor(major, minor)), nil
}

// Version returns the version of Kubernetes that an API server reports: "v1.37.1".
func Version(server *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(server)
	if err != nil {
		return "", fmt.Errorf("make a client: %w", err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	return info.GitVersion, nil
}
