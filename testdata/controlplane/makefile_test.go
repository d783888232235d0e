package main

import (
	"os/exec"
	"strings"
	"testing"
)

// make demo and make test download, and build where BUILD says so. A browser is
// for tests alone.
func TestMakeBuildsOnlyWhenAsked(t *testing.T) {
	for variable, want := range map[string]bool{"": false, "BUILD=": false, "BUILD=0": false, "BUILD=1": true, "BUILD=yes": true} {
		for _, target := range []string{"demo", "test", "stress", "controlplane"} {
			cmd := exec.Command("make", "-C", "../..", "--dry-run", target)
			// Of the make that runs this test, nothing has a say.
			cmd.Env = append(cmd.Environ(), "MAKEFLAGS=", "MAKEOVERRIDES=", "BUILD=")
			if variable != "" {
				cmd.Env = append(cmd.Env, variable)
			}
			output, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			if !strings.Contains(string(output), "run -C testdata/controlplane .") {
				t.Errorf("make %s does not ask for the control plane:\n%s", target, output)
			}
			if got := strings.Contains(string(output), "chromium"); got != (target == "test") {
				t.Errorf("make %s installs a browser: %t", target, got)
			}
			if got := strings.Contains(string(output), " -build "); got != want {
				t.Errorf("make %s with %q builds all: %t, want %t", target, variable, got, want)
			}
		}
	}
}
