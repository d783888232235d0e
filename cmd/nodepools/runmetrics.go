package main

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/build"
	"github.com/nodepools/nodepools/apply/daemon"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// metricsOptions say how metrics and profiles are served.
type metricsOptions struct {
	address string
	// secureSet is set when the flag is given.
	secure, secureSet bool
	// certFile and keyFile are both given, or neither is.
	certFile, keyFile string
	pprofAddress      string
}

func (o *runOptions) registerMetrics(cmd *cobra.Command) {
	flags := cmd.Flags()
	m := &o.metrics
	flags.StringVar(&m.address, "metrics-bind-address", "127.0.0.1:8080", "`address` of the metrics; 0 for none")
	flags.BoolVar(&m.secure, "metrics-secure", true, "serve metrics by TLS, to those alone who may get /metrics; left out, not set at a loopback address, and set at any other")
	flags.StringVar(&m.certFile, "metrics-cert-file", "", "`file` of a certificate for the metrics (default: one that signs itself)")
	flags.StringVar(&m.keyFile, "metrics-key-file", "", "`file` of the key of that certificate")
	flags.StringVar(&m.pprofAddress, "pprof-bind-address", "", "`address` of profiles of the process, such as :6060, which is one of this machine alone (default: none)")
	complete.Flag(cmd, "metrics-bind-address", complete.Nothing)
	complete.Flag(cmd, "pprof-bind-address", complete.Nothing)
	complete.Flag(cmd, "metrics-cert-file", complete.Files("crt", "pem"))
	complete.Flag(cmd, "metrics-key-file", complete.Files("key", "pem"))
}

// check refuses flags that belong together and are not.
func (m *metricsOptions) check() error {
	if (m.certFile == "") != (m.keyFile == "") {
		return usagef("--metrics-cert-file and --metrics-key-file require each other")
	}
	if m.certFile != "" && !m.isSecure() {
		return usagef("--metrics-cert-file requires --metrics-secure")
	}
	if m.pprofAddress == "" || m.pprofAddress == "0" {
		return nil
	}
	if _, _, err := net.SplitHostPort(m.pprofAddress); err != nil {
		return usagef("--pprof-bind-address %q is not an address such as :6060 or 127.0.0.1:6060", m.pprofAddress)
	}
	return nil
}

// isSecure reports whether metrics are served by TLS to those alone who may read them.
func (m *metricsOptions) isSecure() bool {
	if m.secureSet {
		return m.secure
	}
	host, _, err := net.SplitHostPort(m.address)
	if err != nil {
		return false // nothing is served
	}
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// pprof is the address of profiles. They have what is in memory: where no host is named,
// it is this machine alone.
func (m *metricsOptions) pprof() string {
	host, port, err := net.SplitHostPort(m.pprofAddress)
	switch {
	case err != nil:
		return "" // none
	case host == "":
		return net.JoinHostPort("127.0.0.1", port)
	}
	return m.pprofAddress
}

// served is how metrics are served.
func (m *metricsOptions) served(program build.Info) daemon.MetricsOptions {
	o := daemon.MetricsOptions{Address: m.address, Secure: m.isSecure(), CertFile: m.certFile, KeyFile: m.keyFile}
	if m.address != "0" {
		o.Metrics = metrics.New(program)
	}
	return o
}
