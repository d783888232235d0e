package main

import (
	"testing"

	"github.com/spf13/cobra"
)

// Flags are read apart from what is done with them.
func TestRunFlags(t *testing.T) {
	if got := parseRun(t); got.metricsAddress != ":8080" || got.healthAddress != ":8081" || got.concurrency != 16 || !got.leaderElect || got.leaderElectSet || got.logLevel != "info" || got.logFormat != "text" {
		t.Errorf("defaults: %+v", got)
	}
	got := parseRun(t, "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:1", "--concurrency=3",
		"--leader-elect", "--leader-election-namespace=here", "--log-level=debug", "--log-format=json", "--kubeconfig=file", "--context=staging")
	want := runOptions{
		kubeconfig: "file", context: "staging", metricsAddress: "0", healthAddress: "127.0.0.1:1", leaderElect: true,
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
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	return o
}
