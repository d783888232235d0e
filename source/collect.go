package source

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// collector gathers the files of a snapshot within the limits, by the rules
// that a repository and a directory share.
type collector struct {
	subject string // what errors are about: a URL or a directory
	limits  limits
	// nested makes repositories within the folder an error, as a commit has none of
	// their files.
	nested  bool
	files   *memory
	names   int // of whatever kind
	entries int // pool files and folders
	bytes   int64
	regular int
}

func newCollector(subject string, l limits) *collector {
	return &collector{subject: subject, limits: l, files: newMemory()}
}

// regards reports whether an entry may stand for pools, by its name and its kind: a
// pool file, a folder, a link. Nothing else is looked at, nor counts towards any limit
// but that of names.
func (c *collector) regards(name string, mode fs.FileMode) (bool, error) {
	if err := c.list(1); err != nil {
		return false, err
	}
	if mode.IsRegular() {
		c.regular++
	}
	if isHidden(name) {
		return false, nil
	}
	return isPoolFile(name) || mode.IsDir() || mode&fs.ModeSymlink != 0, nil
}

// list counts names that were read. It bounds the time that a hostile folder takes.
func (c *collector) list(names int) error {
	if c.names += names; c.names > c.limits.names {
		return failure(ErrTooLarge, c.subject, fmt.Sprintf("there are more than %d names below the path", c.limits.names))
	}
	return nil
}

// folder adds a folder; its parent was added before.
func (c *collector) folder(name string) error {
	if err := c.admit(name); err != nil {
		return err
	}
	if depth := strings.Count(name, "/") + 1; depth > c.limits.depth {
		return c.tooLarge(name, fmt.Sprintf("lies deeper than %d folders", c.limits.depth))
	}
	c.files.add(name, &node{folder: true})
	return nil
}

// room says whether a file of a size may be read, before it is read.
func (c *collector) room(name string, size int64) error {
	if size > c.limits.fileBytes {
		return c.tooLarge(name, fmt.Sprintf("is larger than %d bytes", c.limits.fileBytes)).
			withHint("split it; or, where it holds no pools, keep it outside of the path, or give it a name that begins with a dot")
	}
	if c.bytes+size > c.limits.totalBytes {
		return c.tooLarge(name, fmt.Sprintf("brings all pool files together above %d bytes", c.limits.totalBytes))
	}
	return nil
}

// file adds a pool file whose content will not be changed any more.
func (c *collector) file(name string, data []byte) error {
	if err := c.admit(name); err != nil {
		return err
	}
	if err := c.room(name, int64(len(data))); err != nil {
		return err
	}
	c.bytes += int64(len(data))
	c.files.add(name, &node{data: data})
	return nil
}

// admit checks what holds for the name of every pool file and folder.
func (c *collector) admit(name string) error {
	if !plain(name) {
		return c.refuse(name, "has a name that cannot be used")
	}
	if _, twice := c.files.nodes[name]; twice {
		return c.refuse(name, "is there twice")
	}
	if c.entries++; c.entries > c.limits.entries {
		return c.tooLarge(name, fmt.Sprintf("is one more than %d pool files and folders", c.limits.entries))
	}
	return nil
}

// done closes the collection. No file at all is an error: nobody keeps an empty
// folder of pools on purpose, and it must not read as "delete every pool".
func (c *collector) done() (fs.FS, error) {
	if c.regular == 0 {
		return nil, failure(ErrPathEmpty, c.subject, "there are no files below the path")
	}
	c.files.sort()
	return c.files, nil
}

func (c *collector) refuse(name, why string) *Error {
	return failure(ErrFile, c.subject, quote(name)+" "+why)
}

func (c *collector) tooLarge(name, why string) *Error {
	return failure(ErrTooLarge, c.subject, quote(name)+" "+why)
}

// plain refuses names that no file system here would give back, and those that
// could forge a log line or turn the text around them.
func plain(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}
