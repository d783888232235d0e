package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// process is one run of the controller.
type process struct {
	cmd   *exec.Cmd
	log   logged // complete once it has ended
	ended chan struct{}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// runController starts the controller as a process, and a process group, of its
// own, with a folder for its temporary files.
func runController(t *testing.T, kubeconfig, temporary string, args ...string) *process {
	t.Helper()
	return runProgram(t, "nodepools", nil, kubeconfig, temporary, args...)
}

// runProgram is runController with another program, and variables of its own.
func runProgram(t *testing.T, program string, environment []string, kubeconfig, temporary string, args ...string) *process {
	t.Helper()
	args = append([]string{"run", "--kubeconfig", kubeconfig, "--metrics-bind-address", "0", "--health-probe-bind-address", "0"}, args...)
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stderr = &p.log
	p.cmd.Env = append(append(os.Environ(), "TMPDIR="+temporary), environment...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState says how it ended
	}()
	return p
}

// kill ends the process as a power cut does, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // refused only where it has ended, which killed tells
	<-p.ended
}

// killed says why a process that has ended did not end by being killed.
func (p *process) killed() error {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the controller ended by itself: %s\n%s", p.cmd.ProcessState, p.log.String())
	}
	return p.sound()
}

// sound reports what must never stand in a log.
func (p *process) sound() error {
	for _, bad := range []string{"panic", "DATA RACE", "fatal error"} {
		if strings.Contains(p.log.String(), bad) {
			return fmt.Errorf("%q in the log of the controller:\n%s", bad, p.log.String())
		}
	}
	return nil
}

// stop ends the process as Kubernetes does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("stop the controller: %v", err)
	}
	<-p.ended
	if !p.cmd.ProcessState.Success() {
		t.Errorf("the controller was asked to stop and ended with %s:\n%s", p.cmd.ProcessState, p.log.String())
	}
	if err := p.sound(); err != nil {
		t.Error(err)
	}
}

// leftBehind are the children that a killed process has left running. A zombie
// has ended: whoever inherits it may be slow to collect it.
func (p *process) leftBehind() error {
	if runtime.GOOS != "linux" {
		return nil // only Linux tells by /proc
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (name) state parent group ...
		program, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 2 && fields[2] == strconv.Itoa(p.cmd.Process.Pid) && fields[0] != "Z" {
			return fmt.Errorf("%s) is still there", program)
		}
	}
	return nil
}

// fate is how a controller is to be killed.
type fate struct {
	// at is the write at which it is killed; nil for no particular one.
	at *moment
	// within is when it is killed at the latest.
	within time.Duration
}

// mortal is a controller that is killed again and again.
type mortal struct {
	t          *testing.T
	gate       *gate
	kubeconfig string
	temporary  string
	repository string // the URL through the gate
	random     *rand.Rand
	// deaths counts by what the controller was at.
	deaths map[string]int
}

// live runs the controller until it is killed, in the way that is decided on a
// while after its start.
func (m *mortal) live(while time.Duration, decide func() fate) {
	m.t.Helper()
	// One at a time makes more moments at which some nodes are written and others
	// are not.
	p := runController(m.t, m.kubeconfig, m.temporary, "--concurrency", pick(m.random, []string{"1", "16"}))
	defer p.kill() // also when the test ends here
	select {
	case <-p.ended:
	case <-time.After(while):
	}
	f := decide()
	death := "at some time"
	if f.at != nil {
		death = f.at.String()
		m.gate.arm(*f.at, p.kill)
	}
	select {
	case <-p.ended:
	case <-time.After(f.within):
	}
	if m.gate.disarm() {
		death = "idle" // the write did not come
	}
	p.kill()
	m.deaths[death]++
	if err := p.killed(); err != nil {
		m.t.Fatal(err)
	}
	cluster.Eventually(m.t, "the git programs of the killed controller are gone", waitTimeout, p.leftBehind)
}

func (m *mortal) kills() int {
	sum := 0
	for _, count := range m.deaths {
		sum += count
	}
	return sum
}

// leavesNothing reports files that were left behind. One name without content is
// none: a controller that is killed just between making a file for what it fetches
// and taking the name away leaves that.
func (m *mortal) leavesNothing() error {
	files, err := os.ReadDir(m.temporary)
	if err != nil {
		return err
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Size() > 0 || len(files) > 1 {
			return errors.Join(err, fmt.Errorf("%d files left behind in the folder for temporary files: %s", len(files), file))
		}
	}
	return nil
}
