// Package prometheus finds programs for tests of monitoring: promtool judges rules,
// prometheus scrapes and evaluates them, and kube-state-metrics makes metrics of objects.
// Start with [Program].
package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/docs"
)

// given is the environment variable that names the folder of the programs.
const given = "NODEPOOLS_PROMETHEUS"

// Program returns the path of promtool or prometheus: in the folder that
// NODEPOOLS_PROMETHEUS names, else in PATH. They are no part of Go, and nothing else
// evaluates rules as they do: where the machine does not have them, the test says that it
// was skipped.
func Program(t testing.TB, name string) string {
	t.Helper()
	if folder := os.Getenv(given); folder != "" {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s names a folder without %s: %v", given, name, err)
		}
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: there is no %s on this machine (Debian: prometheus), and %s names no folder that has it", name, given)
	}
	return path
}

// KubeStateMetrics returns the path of kube-state-metrics, which make statemetrics builds
// from Go modules. It takes minutes, so make test does without: where it was not built, the
// test says that it was skipped.
func KubeStateMetrics(t testing.TB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", docs.Root(t), "./testdata/thirdparty", "-installed", "kube-state-metrics")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	cmd.Stderr = os.Stderr
	path, err := cmd.Output()
	if err != nil {
		t.Fatalf("find kube-state-metrics with go run ./testdata/thirdparty: %v", err)
	}
	if len(path) == 0 {
		t.Skip("SKIPPED: there is no kube-state-metrics on this machine; make statemetrics builds it")
	}
	return strings.TrimSpace(string(path))
}
