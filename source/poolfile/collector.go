package poolfile

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/nodepools/nodepools/source"
)

// Collector gathers the files of a snapshot within limits, by the rules that all
// kinds of source share.
type Collector struct {
	subject string // what errors are about: a URL or a directory
	limits  Limits
	files   *memory
	names   int // of whatever kind
	entries int // pool files and folders
	bytes   int64
	regular int
}

// NewCollector makes a collector without files. The subject is what its errors are
// about: a URL, a revision, a directory.
func NewCollector(subject string, limits Limits) *Collector {
	return &Collector{subject: subject, limits: limits, files: newMemory()}
}

// Subject is what errors are about.
func (c *Collector) Subject() string { return c.subject }

// Limits are those that the files are held to.
func (c *Collector) Limits() Limits { return c.limits }

// Wants reports whether an entry may stand for pools, by its name and its kind: a
// pool file, a folder, a link. Nothing else is read, nor counts towards any limit
// but that of names.
//
// Errors: source.ErrTooLarge.
func (c *Collector) Wants(name string, mode fs.FileMode) (bool, error) {
	if err := c.CountNames(1); err != nil {
		return false, err
	}
	if mode.IsRegular() {
		c.regular++
	}
	if IsHidden(name) {
		return false, nil
	}
	return Is(name) || mode.IsDir() || mode&fs.ModeSymlink != 0, nil
}

// CountNames counts names that were read. It bounds the time that a hostile folder
// takes.
//
// Errors: source.ErrTooLarge.
func (c *Collector) CountNames(names int) error {
	if c.names += names; c.names > c.limits.Names {
		return source.NewError(source.ErrTooLarge, c.subject, fmt.Sprintf("there are more than %d names below the path", c.limits.Names))
	}
	return nil
}

// AddFolder adds a folder; its parent was added before.
//
// Errors: source.ErrFile, source.ErrTooLarge.
func (c *Collector) AddFolder(name string) error {
	if err := c.admit(name); err != nil {
		return err
	}
	if depth := strings.Count(name, "/") + 1; depth > c.limits.Depth {
		return c.tooLarge(name, fmt.Sprintf("lies deeper than %d folders", c.limits.Depth))
	}
	c.files.add(name, &node{folder: true})
	return nil
}

// CheckSize reports, before a file is read, whether one of that size may be.
//
// Errors: source.ErrTooLarge.
func (c *Collector) CheckSize(name string, size int64) error {
	if size > c.limits.FileBytes {
		return c.tooLarge(name, fmt.Sprintf("is larger than %d bytes", c.limits.FileBytes)).
			WithHint("split it; or, where it holds no pools, keep it outside of the path, or give it a name that begins with a dot")
	}
	if c.bytes+size > c.limits.TotalBytes {
		return c.tooLarge(name, fmt.Sprintf("brings all pool files together above %d bytes", c.limits.TotalBytes))
	}
	return nil
}

// AddFile adds a pool file whose content will not be changed any more; its folder was
// added before.
//
// Errors: source.ErrFile, source.ErrTooLarge.
func (c *Collector) AddFile(name string, data []byte) error {
	if err := c.admit(name); err != nil {
		return err
	}
	if err := c.CheckSize(name, int64(len(data))); err != nil {
		return err
	}
	c.bytes += int64(len(data))
	c.files.add(name, &node{data: data})
	return nil
}

// admit checks what holds for the name of every pool file and folder.
func (c *Collector) admit(name string) error {
	if !source.ValidPath(name) {
		return c.Refuse(name, "has a name that cannot be used")
	}
	if _, twice := c.files.nodes[name]; twice {
		return c.Refuse(name, "is there twice")
	}
	if c.entries++; c.entries > c.limits.Entries {
		return c.tooLarge(name, fmt.Sprintf("is one more than %d pool files and folders", c.limits.Entries))
	}
	return nil
}

// Files are those that were added so far, to find them by their names.
func (c *Collector) Files() fs.StatFS { return c.files }

// Done returns the files of the snapshot; nothing is added after it. No file at all,
// of whatever name, is an error: nobody keeps an empty folder of pools on purpose, and
// it must not read as "delete every pool".
//
// Errors: source.ErrPathEmpty.
func (c *Collector) Done() (fs.FS, error) {
	if c.regular == 0 {
		return nil, source.NewError(source.ErrPathEmpty, c.subject, "there are no files below the path")
	}
	c.files.sort()
	return c.files, nil
}

// Refuse is the error of a file or folder that cannot be taken, and why.
func (c *Collector) Refuse(name, why string) *source.Error {
	return source.NewError(source.ErrFile, c.subject, source.Quote(name)+" "+why)
}

func (c *Collector) tooLarge(name, why string) *source.Error {
	return source.NewError(source.ErrTooLarge, c.subject, source.Quote(name)+" "+why)
}
