package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/guard"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// stopTimeout is how long a stop waits for passes that are under way. It is less
// than the 30 seconds that Kubernetes gives a pod.
const stopTimeout = 20 * time.Second

func (o *runOptions) config() (*rest.Config, error) {
	config, err := loadKubeconfig(o.kubeconfig, o.context)
	// Who names a context means no other cluster, and not the one around the pod.
	if none := (*noClusterError)(nil); errors.As(err, &none) && o.context == "" {
		if config, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
			return nil, hinted{fmt.Errorf("%w, and this is not a pod", none), none.Hint()}
		}
		if err == nil {
			config = tuned(config)
		}
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.build.userAgent()
	// Every event of a watch would be packed there and unpacked here. That takes
	// more than it saves where the two are near each other.
	config.DisableCompression = true
	onePerRequest(config, o.concurrency+apply.PoolsAtOnce)
	return config, nil
}

// demandNodePools asks the API server whether it knows our kinds: without them
// the controller would wait for its caches and in the end say no more than that
// they did not come.
func demandNodePools(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	group := v1.GroupVersion.String()
	served := &metav1.APIResourceList{}
	err = client.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(served)
	if err != nil && !apierrors.IsNotFound(err) {
		return unreachable(err, serverName(config), dialTimeout)
	}
	for _, name := range []string{"nodepools", "nodepoolsources"} {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			return hinted{
				error: fmt.Errorf("the cluster does not know %s of %s", name, group),
				hint:  "install the custom resource definitions: nodepools install --crds-only | kubectl apply --server-side -f -",
			}
		}
	}
	return nil
}

// manager wires the loops, the metrics and the probes. The context is that of the
// session.
func (o *runOptions) manager(ctx context.Context, config *rest.Config, lease *lease, g *guard.Guard, logger logr.Logger) (manager.Manager, error) {
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	options := manager.Options{
		Scheme:                  scheme,
		NewCache:                nodecache.New,
		Logger:                  logger,
		Metrics:                 metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:  o.healthAddress,
		GracefulShutdownTimeout: ptr.To(stopTimeout),
	}
	// Each session adds the same controllers.
	options.Controller.SkipNameValidation = ptr.To(true)
	if lease != nil {
		options.LeaderElectionResourceLockInterface = lease.lock(ctx, g)
		options.LeaderElection = true
		options.LeaderElectionReleaseOnCancel = true
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = ptr.To(leaseDuration), ptr.To(renewDeadline), ptr.To(renewPeriod)
	}
	mgr, err := manager.New(config, options)
	if err != nil {
		return nil, portHint(fmt.Errorf("controller: %w", err), "--health-probe-bind-address")
	}
	if err := controller.Add(mgr, controller.Options{Concurrency: o.concurrency}); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	err = errors.Join(
		mgr.Add(following{guard: g, caches: mgr.GetCache()}),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", synced(mgr.GetCache())),
	)
	return mgr, err
}

// portHint names the flag that moves a listener to where it may listen. The
// manager opens that of the probes when it is made, and that of the metrics when
// it starts.
func portHint(err error, flag string) error {
	if listener := (*net.OpError)(nil); errors.As(err, &listener) && listener.Op == "listen" {
		return hinted{err, "name another address with " + flag + ", or 0 for none"}
	}
	return err
}

// synced tells whether the caches hold what is in the cluster.
func synced(caches cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !caches.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
