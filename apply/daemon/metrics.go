package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsregistry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/metrics/access"
	"github.com/nodepools/nodepools/apply/serve"
)

// MetricsOptions say how metrics are served.
type MetricsOptions struct {
	// Address to listen at; "0" is none.
	Address string
	// Secure serves them by TLS, and to those alone who may get their path.
	Secure bool
	// CertFile and KeyFile are of the certificate for TLS, and read again when they
	// change. Without them one is made that signs itself.
	CertFile, KeyFile string
	// Metrics are those of the controllers.
	Metrics *metrics.Metrics
}

// tls returns how metrics are served by TLS; nil where they are not.
func (o MetricsOptions) tls(ctx context.Context, logger logr.Logger) (*tls.Config, error) {
	if !o.Secure {
		return nil, nil
	}
	if o.CertFile == "" {
		cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
		if err != nil {
			return nil, fmt.Errorf("the certificate of metrics: %w", err)
		}
		own, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the certificate of metrics: %w", err)
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{own}}, nil
	}
	config, err := serve.TLS(ctx, o.CertFile, o.KeyFile, func(err error) {
		logger.Error(err, "a new certificate of metrics is not noticed")
	})
	if err != nil {
		return nil, fmt.Errorf("the certificate of metrics: %w", err)
	}
	return config, nil
}

// maxScrapes are answered at a time: each takes memory for all that there is to report.
const maxScrapes = 16

// serveMetrics adds the server of the metrics to a manager. That of controller-runtime
// bounds neither connections nor what a stranger sends on one, and waits a minute for
// those that are open when the process is to stop. Who asks is reviewed past the gate,
// which holds writes back while another instance works.
func (s run) serveMetrics(ctx context.Context, mgr manager.Manager, logger logr.Logger) error {
	if s.Metrics.Address == "0" {
		return nil
	}
	handler := promhttp.HandlerFor(metricsregistry.Registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes,
	})
	if s.Metrics.Secure {
		guard, err := access.New(s.Config, logger)
		if err != nil {
			return err
		}
		handler = guard.Before(handler)
	}
	secure, err := s.Metrics.tls(ctx, logger)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return serveAt(ctx, mgr, MetricsListener, s.Metrics.Address, mux, secure)
}
