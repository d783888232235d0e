package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const (
	// renewDeadline is how long the one that works tries to keep the lease before
	// it gives up, and how long a renewal allows it to write. Others take it over when
	// it was not renewed for leaseDuration: what lies between is for requests that are
	// under way.
	renewDeadline = 10 * time.Second
	leaseDuration = 15 * time.Second
	// leaseTimeout bounds one request for the lease.
	leaseTimeout = 5 * time.Second
	// renewPeriod is how often the lease is renewed: the only writes while nothing
	// changes. The others look at it after one to 2.2 of it.
	renewPeriod = 3 * time.Second
	// podNamespace is where a pod finds the name of its namespace.
	podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// Lease is the one by which instances agree on who works, and what this one is called
// there. A process that replaces itself goes on with its lease.
type Lease struct {
	namespace, identity string
	api                 coordinationclient.LeasesGetter
}

// NewLease returns the lease in a namespace, or in that of the pod where it is empty.
// Nothing is sent.
func NewLease(config *rest.Config, namespace string) (*Lease, error) {
	if namespace == "" {
		var err error
		if namespace, err = PodNamespace(); err != nil {
			return nil, err
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the holder of the lease: %w", err)
	}
	config = rest.CopyConfig(config)
	// A request that is not answered in time ends its connection. By HTTP/2 the next one would
	// be sent on the same, to an API server that may be lost.
	config.NextProtos = []string{"http/1.1"}
	api, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", namespace, v1.LeaseName, err)
	}
	// Two instances may run on one host.
	identity := os.Getenv(holderVariable)
	if identity == "" {
		identity = host + "_" + string(uuid.NewUUID())
	}
	return &Lease{namespace: namespace, identity: identity, api: api}, nil
}

// ErrNoPod says that there is no namespace that is the process's own.
var ErrNoPod = errors.New("the namespace of the lease is not known: this is not a pod")

// PodNamespace returns the namespace of the pod that the process is in, or [ErrNoPod].
func PodNamespace() (string, error) {
	data, err := os.ReadFile(podNamespace)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoPod
	}
	if err != nil {
		return "", fmt.Errorf("the namespace of the lease: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// lock is the lock of the leader election, of which a gate learns. Left to itself the
// manager would also record who leads as an event of the core API, for which it would need a
// right that nothing else here does.
func (l *Lease) lock(ctx context.Context, g *gate) resourcelock.Interface {
	return lock{&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.namespace, Name: v1.LeaseName},
		Client:     l.api,
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity},
	}, g, ctx}
}

// Available returns why the lease cannot be had: who runs the controller may have
// no right to it, or there is no such namespace. It changes nothing.
func (l *Lease) Available(ctx context.Context) error {
	leases := l.api.Leases(l.namespace)
	found, err := leases.Get(ctx, v1.LeaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		found = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: v1.LeaseName}}
		_, err = leases.Create(ctx, found, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	case err == nil:
		_, err = leases.Update(ctx, found, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil // another instance was faster
	}
	return err
}
