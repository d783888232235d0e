package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Backup is the content of etcd at some time.
type Backup struct{ dir string }

// Backup copies the content of etcd. The control plane is unavailable meanwhile.
func (c *Cluster) Backup(ctx context.Context) (*Backup, error) {
	c.mu.Lock()
	c.files++
	b := &Backup{dir: filepath.Join(c.dir, fmt.Sprintf("backup-%d", c.files))}
	c.mu.Unlock()
	return b, c.whileHalted(ctx, func() error { return os.CopyFS(b.dir, os.DirFS(c.etcdData())) })
}

// Restore restores the content of etcd from a backup: later writes are lost,
// and their resource versions are assigned again.
func (c *Cluster) Restore(ctx context.Context, b *Backup) error {
	return c.whileHalted(ctx, func() error {
		return errors.Join(os.RemoveAll(c.etcdData()), os.CopyFS(c.etcdData(), os.DirFS(b.dir)))
	})
}

// whileHalted calls do while no API server and no etcd runs, and returns when
// the API server serves again.
func (c *Cluster) whileHalted(ctx context.Context, do func() error) error {
	if err := c.Halt("kube-apiserver", syscall.SIGKILL); err != nil {
		return err
	}
	if err := c.Halt("etcd", syscall.SIGTERM); err != nil { // it writes all that it has
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("copy the data of etcd: %w", err)
	}
	var last *process
	for _, program := range []string{"etcd", "kube-apiserver"} {
		halted, err := c.find(program)
		if err != nil {
			return err
		}
		if last, err = c.replace(halted, halted.path); err != nil {
			return err
		}
	}
	return last.ready(ctx, c.serving)
}

func (c *Cluster) etcdData() string { return filepath.Join(c.dir, "etcd") }
