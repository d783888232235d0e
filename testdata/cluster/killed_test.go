package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// helperEnv makes this test binary a process that starts a cluster and hangs.
const helperEnv = "NODEPOOLS_CLUSTER_HELPER"

// startAndHang prints the ids of the processes that it started, a line each,
// and waits for its standard input to end.
func startAndHang() {
	c, err := Start(context.Background(), Options{ControllerManager: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, p := range c.processes {
		fmt.Fprintln(os.Stdout, p.child.Pid)
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

func TestKilledLeavesNoProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a killed process")
	}
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperEnv+"=1", "TMPDIR="+t.TempDir())
	helper.Stderr = os.Stderr
	// It hangs for as long as this is open, which Wait closes.
	if _, err := helper.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		var pid int
		if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
			t.Errorf("helper printed %q: %v", lines.Text(), err)
			continue
		}
		pids = append(pids, pid)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := helper.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the helper was to be killed, and ended with: %v", err)
	}
	if len(pids) != 3 {
		t.Fatalf("the helper started processes %v, want 3", pids)
	}
	for _, pid := range pids {
		Eventually(t, fmt.Sprintf("process %d is gone", pid), timeout, func() error { return gone(pid) })
	}
}

// gone returns nil when the process has ended. Whoever inherits it may be slow
// to collect it, so a zombie counts as ended.
func gone(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	// pid (name) state ...
	_, rest, _ := strings.Cut(string(stat), ") ")
	if strings.HasPrefix(rest, "Z") {
		return nil
	}
	return fmt.Errorf("its state is %.1s", rest)
}
