package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/source/poolfile"
)

// File is a file to be written.
type File struct {
	Name string
	Text []byte
}

// WriteFiles writes files into a folder, which it makes. Files that are there are
// replaced where that is allowed, and else nothing is written. Whoever is ended in
// the middle leaves some of the files, and each of them whole.
func WriteFiles(dir string, files []File, overwrite bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	var there []string
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		switch info, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			// A link is somebody else's word on what is written.
			return hint.Add(fmt.Errorf("%s is no regular file: nothing is written", path), "remove it, or name another folder")
		default:
			there = append(there, file.Name)
		}
	}
	if len(there) > 0 && !overwrite {
		what := filepath.Join(dir, there[0]) + " exists"
		if more := len(there) - 1; more > 0 {
			what = fmt.Sprintf("%s and %s exist", filepath.Join(dir, there[0]), other(more))
		}
		return hint.Add(errors.New(what+": nothing is written"), "name another folder, or replace them with --overwrite")
	}
	for _, file := range files {
		if err := ReplaceFile(filepath.Join(dir, file.Name), file.Text); err != nil {
			return err
		}
	}
	return nil
}

func other(count int) string {
	if count == 1 {
		return "1 other file"
	}
	return fmt.Sprintf("%d other files", count)
}

// OtherPoolFiles are the names of the pool files in a folder that are none of these,
// and of the folders in it, sorted. What they say is not known to whoever wrote these.
func OtherPoolFiles(dir string, files []File) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, entry := range entries {
		name := entry.Name()
		ours := slices.ContainsFunc(files, func(file File) bool { return file.Name == name })
		if !ours && !poolfile.IsHidden(name) && (entry.IsDir() || poolfile.Is(name)) {
			others = append(others, name)
		}
	}
	return others, nil
}
