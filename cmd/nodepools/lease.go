package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// leaseName is the lease by which instances agree on who works.
	leaseName = "nodepools"
	// renewDeadline is how long the one that works tries to keep the lease before
	// it gives up. Others take it over when it was not renewed for leaseDuration.
	renewDeadline = 10 * time.Second
	leaseDuration = 15 * time.Second
	// renewPeriod is how often the lease is renewed: the only writes while nothing
	// changes. The others look at it after one to 2.2 of it.
	renewPeriod = 3 * time.Second
	// podNamespace is where a pod finds the name of its namespace.
	podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// newLease is the lock of the leader election. Left to itself the manager would
// also record who leads as an event of the core API, for which it would need a
// right that nothing else here does; the lease says who leads.
func newLease(config *rest.Config, namespace string) (resourcelock.Interface, error) {
	if namespace == "" {
		data, err := os.ReadFile(podNamespace)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, hinted{
				error: errors.New("the namespace of the lease is not known: this is not a pod"),
				hint:  "name it with --leader-election-namespace",
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the namespace of the lease: %w", err)
		}
		namespace = strings.TrimSpace(string(data))
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the holder of the lease: %w", err)
	}
	// Two instances may run on one host.
	holder := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, leaseName, holder, config, renewDeadline)
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", namespace, leaseName, err)
	}
	return lock, nil
}
