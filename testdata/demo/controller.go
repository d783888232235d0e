package main

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

// controller is nodepools run, as a process of its own.
type controller struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
	err   error // why it ended; read it after ended is closed
}

// startController starts the program with its log in a file. When it ends
// unasked, gone is told why.
func startController(program, dir, log string, args, env []string, gone func(error)) (*controller, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("create the controller's log: %w", err)
	}
	defer file.Close() // the process has its own handle

	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = attributes()
	c := &controller{cmd: cmd, log: log, ended: make(chan struct{})}
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
		c.err = cmd.Wait()
		close(c.ended)
		gone(fmt.Errorf("nodepools run was to run until stopped, and ended: %w", errors.Join(c.err, errEnded)))
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start nodepools run: %w", err)
	}
	return c, nil
}

var errEnded = errors.New("the cluster is followed no longer")

// stop ends the process as a cluster ends a pod: it is asked first.
func (c *controller) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop nodepools run: %w", err)
	}
	select {
	case <-c.ended:
		return nil
	case <-time.After(stopTimeout):
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill nodepools run: %w", err)
	}
	<-c.ended
	return fmt.Errorf("nodepools run was asked to end and did not within %s", stopTimeout)
}

// tail is the end of the log.
func (c *controller) tail() string {
	data, err := os.ReadFile(c.log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
