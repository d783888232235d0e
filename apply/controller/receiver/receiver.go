package receiver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/serve"
)

const (
	// maxHeader bounds the header of a request, in bytes. Those of Git servers have
	// fewer than 2,000.
	maxHeader = 16 << 10
	// requestTimeout bounds how long a request takes to come, and its answer to go. GitHub
	// waits no longer for an answer, and who sends more slowly keeps a place from others.
	// idleTimeout bounds the time between two of one connection.
	requestTimeout = 10 * time.Second
	idleTimeout    = 30 * time.Second
	// shutdownTimeout bounds the requests that are under way at the end, and then what
	// they have asked for.
	shutdownTimeout = 5 * time.Second
)

// Options of a receiver.
type Options struct {
	// Address to listen at.
	Address string
	// CertFile and KeyFile are read again when they change. Without them requests come
	// in the clear, from whatever terminates TLS before.
	CertFile, KeyFile string
	// Config of the client that reads Secrets and asks for polls. Nothing may hold its
	// requests back while this replica does not hold the lease.
	Config *rest.Config
	// Namespace is where the Secrets are that sources name.
	Namespace string
	// Metrics count requests; nil is for nobody.
	Metrics *metrics.Metrics
	// Listening is called with the address that is listened at; nil calls nothing.
	Listening func(net.Addr)
}

// Receiver serves webhooks. It is a runnable of a manager. Make one with [Add].
type Receiver struct {
	options  Options
	handler  *handler
	requests *requests
	log      logr.Logger
}

// Add returns a receiver that works with the caches of a manager, which is to run it.
func Add(mgr manager.Manager, options Options) (*Receiver, error) {
	ctx := context.Background() // nothing is sent: the cache has not started
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1.NodePoolSource{}, pathIndex, pathsOf)
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	api, err := client.New(options.Config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	logger := mgr.GetLogger().WithName("webhook")
	r := &Receiver{
		options:  options,
		log:      logger,
		requests: newRequests(mgr.GetClient(), api, logger),
	}
	r.handler = newHandler(mgr.GetClient(), newTokens(api, options.Namespace), r.requests.add)
	r.handler.metrics = options.Metrics
	return r, nil
}

// NeedLeaderElection has a replica receive that does not hold the lease.
func (*Receiver) NeedLeaderElection() bool { return false }

// Start serves until the context ends, and then sends what is not sent yet. A manager
// calls it when its caches are filled.
func (r *Receiver) Start(ctx context.Context) error {
	secure, err := r.tls(ctx)
	if err != nil {
		return err
	}
	listener, err := serve.Listen(ctx, r.options.Address)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	if r.options.Listening != nil {
		r.options.Listening(listener.Addr())
	}
	r.log.Info("receiving webhooks", "address", listener.Addr().String(), "tls", secure != nil)
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	stop := r.requests.start()
	defer stop()
	server := newServer(r.handler)
	defer func() { _ = server.Close() }() // with the requests that are not answered in time
	runnable := manager.Server{Name: "webhook", Server: server, Listener: listener, ShutdownTimeout: ptr.To(shutdownTimeout)}
	return runnable.Start(ctx)
}

func newServer(handler http.Handler) *http.Server {
	server := serve.NewServer(handler)
	server.MaxHeaderBytes = maxHeader
	server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = requestTimeout, requestTimeout+server.ReadHeaderTimeout, idleTimeout
	return server
}

// tls returns how to serve TLS; nil without a certificate.
func (r *Receiver) tls(ctx context.Context) (*tls.Config, error) {
	if r.options.CertFile == "" {
		return nil, nil
	}
	config, err := serve.TLS(ctx, r.options.CertFile, r.options.KeyFile, func(err error) {
		r.log.Error(err, "a new certificate of webhooks is not noticed")
	})
	if err != nil {
		return nil, fmt.Errorf("the certificate of webhooks: %w", err)
	}
	return config, nil
}
