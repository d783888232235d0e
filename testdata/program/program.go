// Package program runs nodepools run as a process of its own, for the demo and the
// benchmark: as the real program, with the log in a file. Start with [Start];
// [ReadInstallation] returns the rights and arguments with which a cluster runs
// it.
package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	stopTimeout = 15 * time.Second
	tailLines   = 20
)

// Process is nodepools run, as a process of its own.
type Process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
	err   error // why it ended; read it after ended is closed
}

// Start starts the program with its log in a file. When it ends, stopped or
// not, gone is called with the reason.
func Start(program, dir, log string, args, env []string, gone func(error)) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("create the controller's log: %w", err)
	}
	defer file.Close() // the process has its own handle

	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = attributes()
	p := &Process{cmd: cmd, log: log, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// On Linux the kernel ends the process with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.ended)
		gone(fmt.Errorf("nodepools run was to run until stopped, and ended: %w", errors.Join(p.err, ErrEnded)))
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start nodepools run: %w", err)
	}
	return p, nil
}

// ErrEnded means that the program no longer runs.
var ErrEnded = errors.New("the cluster is followed no longer")

// Stop ends the process as a cluster ends a pod: with SIGTERM first.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop nodepools run: %w", err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill nodepools run: %w", err)
	}
	<-p.ended
	return fmt.Errorf("nodepools run was asked to end and did not within %s", stopTimeout)
}

// Tail is the end of the log.
func (p *Process) Tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }
