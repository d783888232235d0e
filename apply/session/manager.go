package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/controller/receiver"
	"github.com/nodepools/nodepools/apply/guard"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// stopTimeout is how long a stop waits for passes that are under way. It is less
// than the 30 seconds that Kubernetes gives a pod.
const stopTimeout = 20 * time.Second

// manager wires the loops, the metrics and the probes. The context is that of the
// session.
func (s session) manager(ctx context.Context, config *rest.Config, g *guard.Guard, logger logr.Logger) (manager.Manager, error) {
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	served, err := s.metricsServer(ctx, logger)
	if err != nil {
		return nil, err
	}
	options := manager.Options{
		Scheme:                  scheme,
		NewCache:                nodecache.New,
		Logger:                  logger,
		Metrics:                 served,
		PprofBindAddress:        s.PprofAddress,
		HealthProbeBindAddress:  s.HealthAddress,
		GracefulShutdownTimeout: ptr.To(stopTimeout),
	}
	// Each session adds the same controllers.
	options.Controller.SkipNameValidation = ptr.To(true)
	if s.Lease != nil {
		options.LeaderElectionResourceLockInterface = s.Lease.lock(ctx, g)
		options.LeaderElection = true
		options.LeaderElectionReleaseOnCancel = true
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = ptr.To(leaseDuration), ptr.To(renewDeadline), ptr.To(renewPeriod)
	}
	mgr, err := manager.New(config, options)
	if err != nil {
		return nil, listenError(s.listenerOf(err), fmt.Errorf("controller: %w", err))
	}
	if err := controller.Add(mgr, controller.Options{Concurrency: s.Concurrency, Namespace: s.Namespace, Webhooks: s.WebhookAddress != "", Metrics: s.Metrics.Metrics}); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	if err := s.addReceiver(mgr); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	err = errors.Join(
		mgr.Add(following{guard: g, caches: mgr.GetCache()}),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", synced(mgr.GetCache())),
	)
	return mgr, err
}

// addReceiver adds what serves webhooks, where there is an address for it. Its requests
// are sent past the guard: see package receiver.
func (s session) addReceiver(mgr manager.Manager) error {
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

// Listener is one of the addresses that a manager listens at.
type Listener string

// The listeners of a manager.
const (
	MetricsListener Listener = "metrics"
	HealthListener  Listener = "health probes"
	WebhookListener Listener = "webhooks"
	PprofListener   Listener = "profiles"
)

// ListenError says that a manager cannot listen at one of its addresses.
type ListenError struct {
	Listener Listener
	Err      error
}

// Error is that of the manager, which names the address.
func (e *ListenError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the manager.
func (e *ListenError) Unwrap() error { return e.Err }

// listenerOf says which of the listeners that a manager opens when it is made, an error is
// of: that of the probes, or after it that of the profiles.
func (s session) listenerOf(err error) Listener {
	failed := (*net.OpError)(nil)
	if !errors.As(err, &failed) || failed.Addr == nil || s.PprofAddress == "" {
		return HealthListener
	}
	if at, err := net.ResolveTCPAddr("tcp", s.PprofAddress); err == nil && at.String() == failed.Addr.String() {
		return PprofListener
	}
	return HealthListener
}

// listenError says which listener an error is of, where it is one of a listener. The
// manager opens that of the metrics when it starts.
func listenError(l Listener, err error) error {
	if known := (*ListenError)(nil); errors.As(err, &known) {
		return err
	}
	if failed := (*net.OpError)(nil); errors.As(err, &failed) && failed.Op == "listen" {
		return &ListenError{Listener: l, Err: err}
	}
	return err
}

// synced reports whether the caches hold what is in the cluster.
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
