package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Directory takes the pool files of a folder on this machine, or the one file that
// path names, whole. It keeps to what a fetch of the same files would give: the
// same limits, and the same refusal of symbolic links. Nothing else is opened, in the
// folder or outside.
//
// Errors: ErrPathMissing, ErrPathEmpty, ErrUnreadable, ErrFile, ErrTooLarge.
func Directory(path string) (*Snapshot, error) {
	return directory(path, defaultLimits())
}

func directory(name string, l limits) (*Snapshot, error) { return newCollector(name, l).take(name) }

// take takes a folder, or one file.
func (c *collector) take(name string) (*Snapshot, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, c.unreadable(".", err)
	}
	if info.IsDir() {
		err = c.directory(name)
	} else {
		err = c.single(name, info)
	}
	if err != nil {
		return nil, err
	}
	files, err := c.done()
	if err != nil {
		return nil, err
	}
	return &Snapshot{Files: files}, nil
}

// single takes the one file that the user named, wherever a link leads.
func (c *collector) single(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return failure(ErrFile, c.subject, "is neither a folder nor a file")
	}
	base := filepath.Base(name)
	if regarded, err := c.regards(base, info.Mode()); err != nil || !regarded {
		return err
	}
	return c.read(base, func() (*os.File, error) { return os.OpenFile(name, readOnly, 0) })
}

// directory walks through an os.Root, so that no name and no race leads out.
func (c *collector) directory(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return c.unreadable(".", err)
	}
	err = c.walk(root, ".")
	return errors.Join(err, root.Close())
}

func (c *collector) walk(root *os.Root, folder string) error {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return c.unreadable(folder, err)
	}
	for _, entry := range entries {
		if c.nested && folder != "." && entry.Name() == ".git" {
			return c.refuse(folder, "is a repository of its own, or a submodule, which is never fetched").
				withHint("put the pool files into this repository, or set path to a folder without submodules")
		}
		if err := c.entry(root, path.Join(folder, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) entry(root *os.Root, name string, mode fs.FileMode) error {
	if regarded, err := c.regards(name, mode); err != nil || !regarded {
		return err
	}
	switch {
	case mode.IsDir():
		if err := c.folder(name); err != nil {
			return err
		}
		return c.walk(root, name)
	case mode.IsRegular():
		return c.read(name, func() (*os.File, error) { return root.OpenFile(name, readOnly, 0) })
	case mode&fs.ModeSymlink != 0:
		return c.link(name, func(name string) (destination, error) { return leads(root, name), nil })
	}
	return c.refuse(name, "is no regular file")
}

// readOnly does not wait for a writer, should a pipe have taken the place of
// the file since it was looked at.
const readOnly = os.O_RDONLY | syscall.O_NONBLOCK

// read takes one file; open is called after nothing but its name was checked.
func (c *collector) read(name string, open func() (*os.File, error)) (err error) {
	file, err := open()
	if err != nil {
		return c.unreadable(name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return c.unreadable(name, err)
	}
	if !info.Mode().IsRegular() {
		return c.refuse(name, "is no regular file")
	}
	if err := c.room(name, info.Size()); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(file, c.limits.fileBytes+1))
	if err != nil {
		return c.unreadable(name, err)
	}
	return c.file(name, data)
}

// leads finds what a link leads to. It looks there, and opens nothing. An absolute path
// is that of no file in a repository, so it is not looked at.
func leads(root *os.Root, name string) destination {
	target, err := root.Readlink(name)
	if err != nil || filepath.IsAbs(target) {
		return toUnknown
	}
	info, err := os.Stat(filepath.Join(root.Name(), filepath.FromSlash(name)))
	switch {
	case err != nil:
		return toUnknown
	case info.IsDir():
		return toFolder
	}
	return toFile
}

// unreadable names the file and why, in the words of this machine.
func (c *collector) unreadable(name string, err error) *Error {
	if name == "." && errors.Is(err, fs.ErrNotExist) {
		return failure(ErrPathMissing, c.subject, "no such file or folder").withHint("check the path")
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	text := "cannot be read: " + err.Error()
	if name != "." {
		text = quote(name) + " " + text
	}
	return failure(ErrUnreadable, strings.TrimSuffix(c.subject, "/"), text)
}
