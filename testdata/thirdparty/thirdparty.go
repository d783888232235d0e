// Package thirdparty finds the programs of others that build.sh builds for tests.
package thirdparty

import (
	"os"
	"path/filepath"
	"testing"
)

// Program returns the path of a program. Where it was not built, the test says that it
// was skipped. Others that the machine may have are not used: what they do depends on the
// version.
func Program(t testing.TB, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	built, err := filepath.Glob(filepath.Join(cache, "nodepools", name, "*", name))
	if err != nil || len(built) == 0 {
		t.Skipf("SKIPPED: there is no %[1]s on this machine; make %[1]s builds it", name)
	}
	return built[len(built)-1]
}
