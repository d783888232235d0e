package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nodepools/nodepools/apply/serve"
)

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

// listenError says which listener an error is of, where it is one of a listener.
func listenError(l Listener, err error) error {
	if known := (*ListenError)(nil); errors.As(err, &known) {
		return err
	}
	if failed := (*net.OpError)(nil); errors.As(err, &failed) && failed.Op == "listen" {
		return &ListenError{Listener: l, Err: err}
	}
	return err
}

// serverTimeout bounds the requests that are under way when the process is to stop.
const serverTimeout = 5 * time.Second

// serveAt adds a server to a manager, which runs it from the beginning, whoever holds the
// lease. The address is listened at from now on.
func serveAt(ctx context.Context, mgr manager.Manager, l Listener, address string, handler http.Handler, secure *tls.Config) error {
	listener, err := serve.Listen(ctx, address)
	if err != nil {
		return listenError(l, fmt.Errorf("controller: %s: %w", l, err))
	}
	listener = serve.PerHost(listener)
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	return mgr.Add(&manager.Server{
		Name: string(l), Server: serve.NewServer(handler), Listener: listener, ShutdownTimeout: ptr.To(serverTimeout),
	})
}

// serveHealth adds the server of the probes to a manager. It is bounded, as that of the
// metrics is: every pod reaches it.
func (s session) serveHealth(ctx context.Context, mgr manager.Manager) error {
	if s.HealthAddress == "0" {
		return nil
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		"/healthz": {"ping": healthz.Ping},
		"/readyz":  {"caches": synced(mgr.GetCache())},
	} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return serveAt(ctx, mgr, HealthListener, s.HealthAddress, mux, nil)
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
