package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// Directory takes the pool files of a folder on this machine, or the one file that
// path names, whole. It keeps to what a fetch of the same files would give: the
// same limits, and the same refusal of symbolic links. Nothing else is opened, in the
// folder or outside.
//
// Errors: source.ErrPathMissing, source.ErrPathEmpty, source.ErrUnreadable,
// source.ErrFile, source.ErrTooLarge.
func Directory(path string) (*source.Snapshot, error) {
	return directory(path, poolfile.DefaultLimits())
}

func directory(name string, limits poolfile.Limits) (*source.Snapshot, error) {
	return (&walker{Collector: poolfile.NewCollector(name, limits)}).take(name)
}

// walker adds the files of a folder on this machine to a collector.
type walker struct {
	*poolfile.Collector
	// nested makes repositories within the folder an error, as a commit has none of
	// their files.
	nested bool
}

// take takes a folder, or one file.
func (w *walker) take(name string) (*source.Snapshot, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, w.unreadable(".", err)
	}
	if info.IsDir() {
		err = w.directory(name)
	} else {
		err = w.single(name, info)
	}
	if err != nil {
		return nil, err
	}
	files, err := w.Done()
	if err != nil {
		return nil, err
	}
	return &source.Snapshot{Files: files}, nil
}

// single takes the one file that the user named, wherever a link leads.
func (w *walker) single(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return source.NewError(source.ErrFile, w.Subject(), "is neither a folder nor a file")
	}
	base := filepath.Base(name)
	if regarded, err := w.Wants(base, info.Mode()); err != nil || !regarded {
		return err
	}
	return w.read(base, func() (*os.File, error) { return os.OpenFile(name, readOnly, 0) })
}

// directory walks through an os.Root, so that no name and no race leads out.
func (w *walker) directory(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return w.unreadable(".", err)
	}
	err = w.walk(root, ".")
	return errors.Join(err, root.Close())
}

func (w *walker) walk(root *os.Root, folder string) error {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return w.unreadable(folder, err)
	}
	for _, entry := range entries {
		if w.nested && folder != "." && entry.Name() == ".git" {
			return w.RefuseSubmodule(folder, "is a repository of its own, or a submodule")
		}
		if err := w.entry(root, path.Join(folder, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(root *os.Root, name string, mode fs.FileMode) error {
	if regarded, err := w.Wants(name, mode); err != nil || !regarded {
		return err
	}
	switch {
	case mode.IsDir():
		if err := w.AddFolder(name); err != nil {
			return err
		}
		return w.walk(root, name)
	case mode.IsRegular():
		return w.read(name, func() (*os.File, error) { return root.OpenFile(name, readOnly, 0) })
	case mode&fs.ModeSymlink != 0:
		return w.RefuseLink(name, func(name string) (poolfile.Destination, error) { return leads(root, name), nil })
	}
	return w.Refuse(name, "is no regular file")
}

// readOnly does not wait for a writer, should a pipe have taken the place of
// the file since its kind was read.
const readOnly = os.O_RDONLY | syscall.O_NONBLOCK

// read takes one file; open is called after nothing but its name was checked.
func (w *walker) read(name string, open func() (*os.File, error)) (err error) {
	file, err := open()
	if err != nil {
		return w.unreadable(name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return w.unreadable(name, err)
	}
	if !info.Mode().IsRegular() {
		return w.Refuse(name, "is no regular file")
	}
	if err := w.CheckSize(name, info.Size()); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(file, w.Limits().FileBytes+1))
	if err != nil {
		return w.unreadable(name, err)
	}
	return w.AddFile(name, data)
}

// leads finds what a link leads to, and opens nothing. An absolute path is that of no
// file in a repository, so it is not asked about.
func leads(root *os.Root, name string) poolfile.Destination {
	target, err := root.Readlink(name)
	if err != nil || filepath.IsAbs(target) {
		return poolfile.ToUnknown
	}
	info, err := os.Stat(filepath.Join(root.Name(), filepath.FromSlash(name)))
	switch {
	case err != nil:
		return poolfile.ToUnknown
	case info.IsDir():
		return poolfile.ToFolder
	}
	return poolfile.ToFile
}

// unreadable names the file and why, in the words of this machine.
func (w *walker) unreadable(name string, err error) *source.Error {
	if name == "." && errors.Is(err, fs.ErrNotExist) {
		return source.NewError(source.ErrPathMissing, w.Subject(), "no such file or folder").WithHint("check the path")
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	text := "cannot be read: " + err.Error()
	if name != "." {
		text = source.Quote(name) + " " + text
	}
	return source.NewError(source.ErrUnreadable, strings.TrimSuffix(w.Subject(), "/"), text)
}

// checkFolders checks that each part of the path is a folder of this repository, and
// not a link or a submodule.
func (w *walker) checkFolders(root, path string) error {
	if path == "." {
		return nil
	}
	passed := root
	for part := range strings.SplitSeq(path, "/") {
		passed = filepath.Join(passed, part)
		name, _ := filepath.Rel(root, passed)
		info, err := os.Lstat(passed)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return source.NewError(source.ErrPathMissing, w.Subject(), "there is no folder "+source.Quote(name))
		case err != nil:
			return w.unreadable(name, err)
		case info.Mode()&os.ModeSymlink != 0:
			return source.NewError(source.ErrPathNotFolder, w.Subject(), source.Quote(name)+" is a symbolic link, not a folder")
		case !info.IsDir():
			return source.NewError(source.ErrPathNotFolder, w.Subject(), source.Quote(name)+" is a file, not a folder")
		}
		if _, err := os.Lstat(filepath.Join(passed, ".git")); err == nil {
			return source.NewError(source.ErrPathNotFolder, w.Subject(), source.Quote(name)+" is a repository of its own, not a folder of this one")
		}
	}
	return nil
}
