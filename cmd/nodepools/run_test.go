package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
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

// From level 6 on the client logs requests with their headers and bodies. No
// level of the log reaches there.
func TestLogLevelsShowNoRequests(t *testing.T) {
	for level := range logLevels {
		if newLogger(io.Discard, level, "text").V(6).Enabled() {
			t.Errorf("--log-level %s shows requests", level)
		}
	}
	if klog.V(6).Enabled() {
		t.Error("klog shows requests by itself")
	}
}

func TestLogger(t *testing.T) {
	for _, test := range []struct {
		reason, level, format string
		want                  []string
	}{
		{"text at info", "info", "text", []string{"level=info msg=told n=1", "level=error msg=failed err=why"}},
		{"json at info", "info", "json", []string{`"level":"info","msg":"told","n":1}`, `"level":"error","msg":"failed","err":"why"}`}},
		{"everything", "debug", "text", []string{"level=info msg=told n=1", "level=debug msg=detail", "level=error msg=failed err=why"}},
		{"errors alone", "error", "text", []string{"level=error msg=failed err=why"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var written strings.Builder
			logger := newLogger(&written, test.level, test.format)
			logger.Info("told", "n", 1)
			logger.V(5).Info("detail")
			logger.Error(errors.New("why"), "failed")
			logger.WithName("manager").Error(errors.New("leader election lost"), "error received after stop sequence was engaged")
			lines := strings.Split(strings.TrimSpace(written.String()), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(test.want), written.String())
			}
			for i, want := range test.want {
				if !strings.HasSuffix(lines[i], want) {
					t.Errorf("line %q, want it to end with %q", lines[i], want)
				}
			}
		})
	}
}
