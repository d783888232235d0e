package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Halt ends a program of the control plane, "etcd" or "kube-apiserver" above all, or
// what [Cluster.AddAPIServer] has started, and returns when it is gone: SIGKILL as a
// crash does, SIGTERM as an upgrade.
// Its data and its port are kept. [Cluster.Resume] starts it again.
func (c *Cluster) Halt(program string, signal syscall.Signal) error {
	p, err := c.find(program)
	if err != nil {
		return err
	}
	if err := p.child.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("halt %s (process %d): %w", program, p.child.Pid, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("halt %s: process %d got signal %q and is still there after %s", program, p.child.Pid, signal, startTimeout)
	}
}

// Resume starts a program that [Cluster.Halt] has ended, as it was started
// before, and returns when the API server serves again. With etcd halted, the API
// server does not; resume that first.
func (c *Cluster) Resume(ctx context.Context, program string) error {
	halted, err := c.find(program)
	if err != nil {
		return err
	}
	return c.resume(ctx, halted, halted.path)
}

// Upgrade starts an API server that [Cluster.Halt] has ended as that of another version of
// Kubernetes, from a folder of programs as [Assets] returns it. Its data, its port and its
// arguments are kept.
func (c *Cluster) Upgrade(ctx context.Context, program, programs string) error {
	halted, err := c.find(program)
	if err != nil {
		return err
	}
	return c.resume(ctx, halted, filepath.Join(programs, filepath.Base(halted.path)))
}

// resume starts the file at a path in the place of a process that has ended, and returns
// when the API server serves again.
func (c *Cluster) resume(ctx context.Context, halted *process, path string) error {
	select {
	case <-halted.ended:
	default:
		return fmt.Errorf("resume %s: process %d has not ended", halted.name, halted.child.Pid)
	}
	resumed, err := c.replace(halted, path)
	if err != nil {
		return err
	}
	return resumed.ready(ctx, func(ctx context.Context) error { return serving(ctx, c.configOf(halted.name)) })
}

// find returns the process of a program.
func (c *Cluster) find(program string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.processes {
		if p.name == program {
			return p, nil
		}
	}
	return nil, fmt.Errorf("this control plane has no %s", program)
}

// replace starts the file at a path in the place of a process that has ended: what
// Stop ends in which order stays the same.
func (c *Cluster) replace(ended *process, path string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.processes {
		if p == ended {
			started, err := c.launch(p.name, path, p.args)
			if err == nil {
				c.processes[i] = started
			}
			return started, err
		}
	}
	return nil, fmt.Errorf("resume %s: the cluster was stopped", ended.name)
}
