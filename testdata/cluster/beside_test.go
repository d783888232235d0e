package cluster

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestBeside runs in a process of its own when all tests are run, and in the one
// process that there is when somebody has chosen it.
func TestBeside(t *testing.T) {
	if os.Getenv(besideVariable) == "" && !chosen() {
		t.Error("runs in the process of the others")
	}
}

// TestFailureBesideIsAFailure runs a process whose only failure is in the process
// beside it.
func TestFailureBesideIsAFailure(t *testing.T) {
	if os.Getenv(failEnv) != "" {
		t.Skip("is what is run")
	}
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), failEnv+"=1", besideVariable+"=")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "FAIL: TestFailsBeside") || !strings.Contains(string(out), "in a process of their own") {
		t.Errorf("the process beside failed, and this was printed: %v\n%s", err, out)
	}
}

// failEnv makes a test binary run only a failing test, in a process beside.
const failEnv = "NODEPOOLS_TESTS_FAIL_BESIDE"

// none are no tests; those that are run are run beside.
type none struct{}

func (none) Run() int { return 0 }

func TestFailsBeside(t *testing.T) {
	if os.Getenv(failEnv) != "" && os.Getenv(besideVariable) != "" {
		t.Error("as it is to")
	}
}
