package cluster

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// besideVariable is set in a test process that runs beside another.
const besideVariable = "NODEPOOLS_TESTS_BESIDE"

// besideOthers runs the tests that a pattern names in a process and with a cluster
// of their own, while this process runs the others. A package of many tests waits
// for its cluster most of the time, and tests of one cluster wait for each other.
//
// Tests are not split where somebody has selected tests, or measures them. The
// function returned waits for the other process, prints what it has printed,
// and returns its exit code.
func besideOthers(ctx context.Context, pattern string) (wait func() int) {
	if pattern == "" || os.Getenv(besideVariable) != "" || chosen() {
		return func() int { return 0 }
	}
	if err := flag.Set("test.skip", pattern); err != nil {
		panic(err) // every test binary has the flag
	}
	var printed bytes.Buffer
	// The last one of a flag wins. The log of what a test opens is for one process.
	args := append(os.Args[1:], "-test.run="+pattern, "-test.testlogfile=")
	other := exec.CommandContext(ctx, os.Args[0], args...)
	other.Env = append(os.Environ(), besideVariable+"=1")
	other.Stdout, other.Stderr = &printed, &printed
	other.Cancel = func() error { return other.Process.Signal(syscall.SIGTERM) }
	other.WaitDelay = time.Minute // for its cluster to stop
	other.SysProcAttr = attributes()
	if err := other.Start(); err != nil {
		panic(err)
	}
	return func() int {
		err := other.Wait()
		_, _ = os.Stdout.Write(printed.Bytes())
		if err != nil {
			fmt.Printf("the tests %s, in a process of their own: %v\n", pattern, err)
			return 1
		}
		return 0
	}
}

// chosen reports whether flags do more than run all tests.
func chosen() bool {
	flag.Parse()
	found := *stress
	for _, name := range []string{"run", "skip", "list", "bench", "fuzz", "coverprofile", "cpuprofile", "memprofile", "mutexprofile", "blockprofile", "trace", "failfast"} {
		if given := flag.Lookup("test." + name); given != nil && given.Value.String() != given.DefValue {
			found = true
		}
	}
	return found
}
