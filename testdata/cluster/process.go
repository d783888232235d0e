package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	startTimeout = 2 * time.Minute // generous: a laptop may be busy compiling
	stopTimeout  = 20 * time.Second
	pollInterval = 50 * time.Millisecond
	tailLines    = 25
)

// process is a child process which writes to a log file of its own.
type process struct {
	name  string // what it is called, in the name of its log too
	path  string // of its program
	args  []string
	log   string // path
	child *os.Process

	ended chan struct{} // closed when the process has ended
	err   error         // why it ended; read it after ended is closed
}

// start runs a program of the control plane until Stop.
func (c *Cluster) start(name string, args ...string) (*process, error) {
	return c.startAs(name, name, args...)
}

// startAs runs a program under a name of its own.
func (c *Cluster) startAs(name, program string, args ...string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.launch(name, c.Program(program), args)
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}

// launch starts the process of the program at a path.
func (c *Cluster) launch(name, path string, args []string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the log of %s: %w", name, err)
	}
	defer log.Close() // the child has its own handle

	cmd := exec.Command(path, args...)
	cmd.Dir = c.dir
	// Settings in the user's home and proxies must not affect a control plane on loopback.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + c.dir, "HOME=" + c.dir}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()

	p := &process{name: name, path: path, args: args, log: log.Name(), ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux kills the child when the thread that started it ends, not the
		// process: so the thread stays with this goroutine, and this goroutine
		// stays as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.child = cmd.Process
	return p, nil
}

// stop kills the process and returns when it is gone. There is nothing to save
// in it: what it wrote is removed next.
func (p *process) stop() error {
	if err := p.child.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s (process %d): %w", p.name, p.child.Pid, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("stop %s: process %d was killed and is still there after %s", p.name, p.child.Pid, stopTimeout)
	}
}

// ready waits until check returns nil. It gives up when the process ends, and
// then, as after the timeout, the error shows the end of the log.
func (p *process) ready(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended before it was ready: %w\n%s", p.name, errors.Join(p.err, errNotReady), p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w)\n%s", p.name, err, ctx.Err(), p.tail())
		case <-ticker.C:
		}
	}
}

// errNotReady is in the error of a process which ended too early, even with exit code 0.
var errNotReady = errors.New("it was to run until stopped")

// tail returns the last lines of the log, or why they cannot be read.
func (p *process) tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "the end of its log:\n\t" + strings.Join(lines, "\n\t")
}
