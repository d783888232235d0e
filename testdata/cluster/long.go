package cluster

import "testing"

// Long skips a test that searches long, or that needs more than a control plane,
// where make test runs it: with -short. make test-all runs every test.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("searches long: make test-all runs it")
	}
}
