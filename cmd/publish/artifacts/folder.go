package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checksumsFile lists every other file.
const checksumsFile = "checksums.txt"

// folder gathers the files of a release, and writes them at once.
type folder map[string][]byte

// checksums returns what sha256sum -c reads.
func (f folder) checksums() []byte {
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	var list strings.Builder
	for _, name := range names {
		fmt.Fprintf(&list, "%s  %s\n", digest(f[name]), name)
	}
	return []byte(list.String())
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// write replaces a folder that an earlier release has written, and no other. What was
// there stays until the new files are complete.
func (f folder) write(dir string) error {
	if err := checkReplaceable(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	next, err := os.MkdirTemp(filepath.Dir(dir), ".release-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(next) }() // moved away by then, unless there is an error, which is returned
	if err := os.Chmod(next, 0o755); err != nil {
		return err
	}
	for name, content := range f {
		if err := os.WriteFile(filepath.Join(next, name), content, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(next, checksumsFile), f.checksums(), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(next, dir)
}

// checkReplaceable refuses a folder that holds anything but the files of a release: a
// checksums.txt alone does not make it one.
func checkReplaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) == 0 {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dir, checksumsFile))
	if err != nil {
		return fmt.Errorf("%s is not the folder of a release: it has no %s\nmove it out of the way", dir, checksumsFile)
	}
	listed := map[string]bool{checksumsFile: true}
	for line := range strings.Lines(string(sums)) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = true
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !listed[entry.Name()] {
			return fmt.Errorf("%s is not the folder of a release: %s is not one of the files that its %s lists\nmove it out of the way", dir, entry.Name(), checksumsFile)
		}
	}
	return nil
}
