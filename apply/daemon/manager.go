package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/controller/receiver"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// stopTimeout is how long a stop waits for passes that are under way. It is less
// than the 30 seconds that Kubernetes gives a pod.
const stopTimeout = 20 * time.Second

// manager wires the loops, the metrics and the probes.
func (s run) manager(ctx context.Context, config *rest.Config, g *gate, logger logr.Logger) (manager.Manager, error) {
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	options := manager.Options{
		Scheme:                  scheme,
		NewCache:                nodecache.New,
		Logger:                  logger,
		Metrics:                 metricsserver.Options{BindAddress: "0"}, // see serveMetrics
		PprofBindAddress:        s.PprofAddress,
		HealthProbeBindAddress:  "0", // see serveHealth
		GracefulShutdownTimeout: ptr.To(stopTimeout),
	}
	if s.Lease != nil {
		options.LeaderElectionResourceLockInterface = s.Lease.lock(ctx, g)
		options.LeaderElection = true
		options.LeaderElectionReleaseOnCancel = true
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = ptr.To(leaseDuration), ptr.To(renewDeadline), ptr.To(renewPeriod)
	}
	mgr, err := manager.New(config, options)
	if err != nil {
		return nil, listenError(PprofListener, fmt.Errorf("controller: %w", err))
	}
	if err := controller.Add(mgr, controller.Options{Concurrency: s.Concurrency, Namespace: s.Namespace, Webhooks: s.WebhookAddress != "", Metrics: s.Metrics.Metrics}); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	if err := s.addReceiver(mgr); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	// The instance that stands by fills its caches, too.
	for _, kind := range []client.Object{&corev1.Node{}, &v1.NodePool{}, &v1.NodePoolSource{}, &nodev1.RuntimeClass{}} {
		informer, err := s.informer(ctx, mgr.GetCache(), kind)
		if err != nil {
			return nil, fmt.Errorf("controller: %w", err)
		}
		if _, isNode := kind.(*corev1.Node); isNode {
			g.seen = informer.(toolscache.SharedIndexInformer).LastSyncResourceVersion
		}
	}
	s.Health.caches.Store(ptr.To(mgr.GetCache()))
	return mgr, s.serveMetrics(ctx, mgr, logger)
}

// informer fills the cache of a kind, as soon as the API server says how that is served.
func (s run) informer(ctx context.Context, caches cache.Cache, kind client.Object) (cache.Informer, error) {
	for first := true; ; first = false {
		informer, err := caches.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if status := apierrors.APIStatus(nil); err == nil || ctx.Err() != nil || !isAway(err) && !errors.As(err, &status) {
			return informer, err
		}
		if first {
			s.away(err)
		}
		pause(ctx, probePeriod)
	}
}

// addReceiver adds what serves webhooks, where there is an address for it. Its requests
// are sent past the gate: see package receiver.
func (s run) addReceiver(mgr manager.Manager) error {
	if s.WebhookAddress == "" {
		return nil
	}
	r, err := receiver.Add(mgr, receiver.Options{
		Address: s.WebhookAddress, CertFile: s.WebhookCertFile, KeyFile: s.WebhookKeyFile,
		Config: s.Config, Namespace: s.Namespace, Metrics: s.Metrics.Metrics,
	})
	if err != nil {
		return err
	}
	return mgr.Add(webhooks{r})
}

// webhooks names the listener of a receiver that cannot listen.
type webhooks struct{ *receiver.Receiver }

// Start implements [manager.Runnable].
func (w webhooks) Start(ctx context.Context) error {
	return listenError(WebhookListener, w.Receiver.Start(ctx))
}
