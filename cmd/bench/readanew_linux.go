package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// readAnew has the system read a program from the disk when it starts, as one of an image is.
// Of a file that was written a moment ago, Linux maps larger pieces, as they lie in its cache:
// with the program that make has just linked, they counted as up to 9 MiB of memory more.
func readAnew(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Sync(); err != nil { // what is not written yet is not dropped
		return err
	}
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("drop %s from the cache of files: %w", path, err)
	}
	return nil
}
