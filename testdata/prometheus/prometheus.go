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
// NODEPOOLS_PROMETHEUS names, else as make prometheus and make promtool build it. Others that the machine may
// have are not used: what rules and configurations mean depends on the version.
func Program(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv(given)
	if folder == "" {
		return built(t, name, "make "+name)
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s names a folder without %s: %v", given, name, err)
	}
	return path
}

// KubeStateMetrics returns the path of kube-state-metrics, which make kube-state-metrics builds.
func KubeStateMetrics(t testing.TB) string {
	t.Helper()
	return built(t, "kube-state-metrics", "make kube-state-metrics")
}

// built returns the path of a program that a command builds from Go modules. Where that was
// not done, the test says that it was skipped.
func built(t testing.TB, name, by string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", docs.Root(t), "./testdata/thirdparty", "-installed", name)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	cmd.Stderr = os.Stderr
	path, err := cmd.Output()
	if err != nil {
		t.Fatalf("find %s with go run ./testdata/thirdparty: %v", name, err)
	}
	if len(path) == 0 {
		t.Skipf("SKIPPED: there is no %s on this machine; %s builds it", name, by)
	}
	return strings.TrimSpace(string(path))
}
