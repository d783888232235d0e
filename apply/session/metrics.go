package session

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/metrics/access"
)

// MetricsOptions say how metrics are served.
type MetricsOptions struct {
	// Address to listen at; "0" is none.
	Address string
	// Secure serves them by TLS, and to those alone who may get their path.
	Secure bool
	// CertFile and KeyFile are of the certificate for TLS, and read again when they
	// change. Without them a session makes one that signs itself.
	CertFile, KeyFile string
	// Metrics are those of the controllers.
	Metrics *metrics.Metrics
}

// metricsServer returns how a session serves the metrics. Who asks for them is reviewed
// past the guard, which holds requests back while another instance works.
func (s session) metricsServer(ctx context.Context, logger logr.Logger) (metricsserver.Options, error) {
	o := metricsserver.Options{BindAddress: s.Metrics.Address}
	if !s.Metrics.Secure || s.Metrics.Address == "0" {
		return o, nil
	}
	o.SecureServing = true
	o.TLSOpts = []func(*tls.Config){func(config *tls.Config) {
		config.MinVersion = tls.VersionTLS12
		// A client of HTTP/2 has many requests at a time, and none is needed for a scrape.
		config.NextProtos = []string{"http/1.1"}
	}}
	if s.Metrics.CertFile != "" {
		watcher, err := certwatcher.New(s.Metrics.CertFile, s.Metrics.KeyFile)
		if err != nil {
			return o, fmt.Errorf("the certificate of metrics: %w", err)
		}
		go func() {
			if err := watcher.Start(ctx); err != nil {
				logger.Error(err, "a new certificate of metrics is not noticed")
			}
		}()
		o.TLSOpts = append(o.TLSOpts, func(config *tls.Config) { config.GetCertificate = watcher.GetCertificate })
	}
	o.FilterProvider = func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
		guard, err := access.New(s.Config, logger)
		if err != nil {
			return nil, err
		}
		return func(_ logr.Logger, handler http.Handler) (http.Handler, error) { return guard.Before(handler), nil }, nil
	}
	return o, nil
}
