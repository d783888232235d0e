package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	folderPattern = "nodepools-cluster-*"
	folderLock    = "lock"
)

// newFolder makes the temporary folder of a cluster, and removes those of
// clusters whose process was killed: etcd alone takes 125 MiB in each. The lock
// on the folder lasts until release is called or the process ends.
func newFolder() (dir string, release func() error, err error) {
	if err := removeAbandoned(); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp("", folderPattern)
	if err != nil {
		return "", nil, fmt.Errorf("create a folder for the control plane: %w", err)
	}
	// Whoever sees the file must see it locked, so it gets its name afterwards.
	file, err := os.Create(filepath.Join(dir, folderLock+".new"))
	if err != nil {
		return "", nil, fmt.Errorf("lock the folder of the control plane: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, folderLock))
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock the folder of the control plane: %w", err), file.Close())
	}
	return dir, file.Close, nil
}

// removeAbandoned removes the folders whose lock nobody holds.
func removeAbandoned() error {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern, folderLock))
	if err != nil {
		return fmt.Errorf("find abandoned control planes: %w", err)
	}
	for _, lock := range locks {
		file, err := os.Open(lock)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // stopped meanwhile, or somebody else's
		}
		if err != nil {
			return fmt.Errorf("find abandoned control planes: %w", err)
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			err = os.RemoveAll(filepath.Dir(lock))
		}
		file.Close() // it was only read, and held the lock up to here
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("remove an abandoned control plane: %w", err)
		}
	}
	return nil
}
