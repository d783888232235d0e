package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
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

// Health serves the probes from the start of the process, also while it waits for the API
// server. It is bounded, as the server of the metrics is: every pod reaches it.
type Health struct {
	caches atomic.Pointer[cache.Cache]
}

// ServeHealth serves probes at an address until the context ends; "0" is none. An address
// that cannot be listened at is a [*ListenError].
func ServeHealth(ctx context.Context, address string) (*Health, error) {
	h := &Health{}
	if address == "0" {
		return h, nil
	}
	listener, err := serve.Listen(ctx, address)
	if err != nil {
		return nil, listenError(HealthListener, fmt.Errorf("controller: %s: %w", HealthListener, err))
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		"/healthz": {"ping": healthz.Ping},
		"/readyz":  {"caches": h.synced},
	} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	server := serve.NewServer(mux)
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(serve.PerHost(listener)) }() // it ends with the process
	return h, nil
}

// synced reports whether the caches hold what is in the cluster.
func (h *Health) synced(request *http.Request) error {
	ctx, cancel := context.WithTimeout(request.Context(), time.Second)
	defer cancel()
	if caches := h.caches.Load(); caches == nil || !(*caches).WaitForCacheSync(ctx) {
		return errors.New("the caches are not filled yet")
	}
	return nil
}
