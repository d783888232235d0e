package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nodepools/nodepools/api/hint"
)

// ReplaceFile writes a file whole or not at all: whoever reads it meanwhile reads
// the one before.
func ReplaceFile(path string, data []byte) (err error) {
	// A link stays one, also where what it leads to is yet to be written.
	if path, err = linked(path); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return hint.Add(fmt.Errorf("%s is not a file that can be replaced", path), "print to it instead: leave --output-file out and use the shell's >")
	default:
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(data)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// maxLinks is how many links may lead from one to the next, as in Linux.
const maxLinks = 40

// linked is the file that a link leads to, be it there or not; the path itself
// where it is no link.
func linked(path string) (string, error) {
	at := path
	for range maxLinks {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, nil
		case err != nil:
			return "", err
		case info.Mode()&os.ModeSymlink == 0:
			return at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Not joined, which would take "a/.." for nothing: a may be a link, too.
			to = filepath.Dir(at) + string(filepath.Separator) + to
		}
		at = to
	}
	return "", fmt.Errorf("%s: too many links lead from one to the next", path)
}
