package connect

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/hint"
)

// KubeconfigOrPod is [Kubeconfig], or the connection of the pod that the process runs in
// where no kubeconfig file names a cluster. Who names a context means no other cluster, and
// not the one around the pod.
func KubeconfigOrPod(path, contextName string) (*rest.Config, error) {
	config, err := Kubeconfig(path, contextName)
	none := (*NoClusterError)(nil)
	if !errors.As(err, &none) || contextName != "" {
		return config, err
	}
	config, err = rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, hint.Add(fmt.Errorf("%w, and this is not a pod", none), none.Hint())
	case err != nil:
		return nil, err
	}
	return Tuned(config), nil
}
