// Package prometheus finds the programs of Prometheus for tests: promtool judges rules,
// and prometheus scrapes and evaluates them. Start with [Program].
package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
