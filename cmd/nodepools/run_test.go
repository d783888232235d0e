package main

import (
	"testing"

	"github.com/spf13/cobra"
)

// Flags are read apart from what is done with them.
func TestRunFlags(t *testing.T) {
	if got := parseRun(t); got.metrics.address != "127.0.0.1:8080" || got.metrics.isSecure() || got.metrics.pprof() != "" || got.healthAddress != ":8081" || got.concurrency != 16 || !got.leaderElect || got.leaderElectSet || got.logLevel != "info" || got.logFormat != "text" {
		t.Errorf("defaults: %+v", got)
	}
	got := parseRun(t, "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:1", "--concurrency=3",
		"--leader-elect", "--leader-election-namespace=here", "--log-level=debug", "--log-format=json", "--kubeconfig=file", "--context=staging")
	want := runOptions{
		kubeconfig: "file", context: "staging", metrics: metricsOptions{address: "0", secure: true}, healthAddress: "127.0.0.1:1", leaderElect: true,
		leaseNamespace: "here", concurrency: 3, logLevel: "debug", logFormat: "json", build: got.build,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func parseRun(t *testing.T, args ...string) runOptions {
	t.Helper()
	o := runOptions{}
	cmd := &cobra.Command{}
	o.register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	o.metrics.secureSet = cmd.Flags().Changed("metrics-secure")
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	return o
}

// Metrics are open to a machine alone where nothing else is said, and profiles too.
func TestRunMetricsFlags(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
		secure bool
		pprof  string
	}{
		{"a laptop", nil, false, ""},
		{"another loopback address", []string{"--metrics-bind-address=[::1]:1"}, false, ""},
		{"every address", []string{"--metrics-bind-address=:8443"}, true, ""},
		{"an address of the network", []string{"--metrics-bind-address=10.0.0.1:8443"}, true, ""},
		{"a name may lead anywhere", []string{"--metrics-bind-address=metrics.example.com:8443"}, true, ""},
		{"none", []string{"--metrics-bind-address=0"}, false, ""},
		{"plain is said", []string{"--metrics-bind-address=:8080", "--metrics-secure=false"}, false, ""},
		{"secure is said", []string{"--metrics-secure"}, true, ""},
		{"profiles at a port", []string{"--pprof-bind-address=:6060"}, false, "127.0.0.1:6060"},
		{"profiles for the network", []string{"--pprof-bind-address=0.0.0.0:6060"}, false, "0.0.0.0:6060"},
		{"no profiles", []string{"--pprof-bind-address=0"}, false, ""},
	} {
		got := parseRun(t, c.args...)
		if got.metrics.isSecure() != c.secure || got.metrics.pprof() != c.pprof {
			t.Errorf("%s: secure %t, profiles at %q; want %t, %q", c.reason, got.metrics.isSecure(), got.metrics.pprof(), c.secure, c.pprof)
		}
	}
}

// Flags that make no sense together are refused before anything is served.
func TestRunRefusesMetricsFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--metrics-bind-address=8080"},
		{"--metrics-cert-file=crt"},
		{"--metrics-key-file=key"},
		{"--metrics-cert-file=crt", "--metrics-key-file=key"}, // at a loopback address they are plain
		{"--pprof-bind-address=6060"},
	} {
		o := runOptions{}
		cmd := &cobra.Command{}
		o.register(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		if err := o.check(); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
