package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5"

	"github.com/nodepools/nodepools/source"
)

// Each file of a repository is opened without waiting, has to be a regular one, and has a
// limit.
const (
	// maxRefBytes bounds HEAD, a ref that has a file of its own, and a file that holds
	// nothing but the path of a folder.
	maxRefBytes = 64 << 10
	// maxConfigBytes bounds the configuration and the list of alternates.
	maxConfigBytes = 1 << 20
	// maxListBytes bounds the packed refs, the commits without history, and the index
	// of the working tree: half a million entries.
	maxListBytes = 64 << 20
	// maxObjectFile bounds a file with objects, or the index of a pack.
	maxObjectFile = 1 << 40
)

// errNotRegular is the error of what ought to be a file and is none.
var errNotRegular = errors.New("is no regular file")

// errTooMuch is the error of a file that is larger than its limit.
type errTooMuch int64

func (e errTooMuch) Error() string {
	return "is larger than " + strconv.FormatInt(int64(e), 10) + " bytes"
}

func regular(info fs.FileInfo, most int64) error {
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	if info.Size() > most {
		return errTooMuch(most)
	}
	return nil
}

// readRegular reads a regular file of at most that many bytes, and follows links.
func readRegular(name string, most int64) (data []byte, err error) {
	file, err := os.OpenFile(name, readOnly, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err == nil {
		err = regular(info, most)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	data, err = io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: name, Err: errTooMuch(most)}
	}
	return data, err
}

// guardedFiles are the files of a repository as go-git opens them. go-git drops some
// errors, hence refusal has the first file that was not opened.
type guardedFiles struct {
	billy.Filesystem
	refusal error
}

func (g *guardedFiles) Open(name string) (billy.File, error) {
	return g.OpenFile(name, os.O_RDONLY, 0)
}

func (g *guardedFiles) OpenFile(name string, flag int, _ os.FileMode) (billy.File, error) {
	if flag != os.O_RDONLY {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	info, err := g.Stat(name)
	if err != nil {
		return nil, err
	}
	most := int64(maxRefBytes)
	switch base := path.Base(name); {
	case base == "packed-refs", base == "shallow":
		most = maxListBytes
	case base == "alternates": // objectFolders has read them
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case strings.HasPrefix(filepath.ToSlash(name), "objects/"):
		most = maxObjectFile
	}
	if err := regular(info, most); err != nil {
		if g.refusal == nil {
			g.refusal = &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return nil, err
	}
	file, err := g.Filesystem.OpenFile(name, readOnly, 0)
	if err != nil {
		return nil, err
	}
	return &guardedFile{File: file, left: most}, nil
}

// guardedFile ends at its limit, also where the file has grown since it was opened.
type guardedFile struct {
	billy.File
	left int64
}

func (g *guardedFile) Read(into []byte) (int, error) {
	if g.left <= 0 {
		return 0, io.EOF
	}
	n, err := g.File.Read(into[:min(int64(len(into)), g.left)])
	g.left -= int64(n)
	return n, err
}

// refused is the error of the first file that was not opened; nil for none.
func (g *guardedFiles) refused() error {
	if g.refusal == nil {
		return nil
	}
	return unreadableFile(g.refusal)
}

// unreadableFile says which file of a repository cannot be read, and why.
func unreadableFile(err error) *source.Error {
	name := "the repository"
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		name = "file " + source.Quote(inner.Path) + " of the repository"
	}
	e := source.NewError(source.ErrUnreadable, name, reasonOf(err))
	if _, large := errors.AsType[errTooMuch](err); large {
		e = source.NewError(source.ErrTooLarge, name, reasonOf(err))
	}
	return e.WithHint("make a new clone; 'git fsck' says what is wrong with this one")
}
