//go:build !linux

package main

import "os"

// readAnew is for Linux: elsewhere, the program is measured as it lies in the cache of files.
func readAnew(path string) error {
	_, err := os.Stat(path)
	return err
}
