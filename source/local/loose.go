package local

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source/object"
)

// content is an object as it was read. Nobody changes its data.
type content struct {
	kind plumbing.ObjectType
	data []byte
}

// maxLooseHeader bounds "commit 12345\x00", with which each object begins that has a
// file of its own.
const maxLooseHeader = 32

// readLoose reads an object that has a file of its own. go-git's reader believes the
// size that the object says, and reads on for as long as there is something.
//
// Errors: fs.ErrNotExist, object.ErrTooLarge.
func readLoose(folder string, hash plumbing.Hash) (c *content, err error) {
	name := hash.String()
	name = filepath.Join(folder, name[:2], name[2:])
	file, err := os.OpenFile(name, readOnly, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, unreadableFile(&fs.PathError{Path: name, Err: errNotRegular})
	}
	inflated, err := zlib.NewReader(file)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReader(inflated)
	kind, size, err := looseHeader(buffered)
	if err != nil {
		return nil, err
	}
	if size > object.MaxBytes {
		return nil, object.ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(buffered, size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("object %s has another size than it says", hash)
	}
	return &content{kind, data}, nil
}

// looseHeader reads the type and the size that an object begins with.
func looseHeader(from *bufio.Reader) (plumbing.ObjectType, int64, error) {
	header := make([]byte, 0, maxLooseHeader)
	for {
		b, err := from.ReadByte()
		switch {
		case err != nil:
			return plumbing.InvalidObject, 0, err
		case b == 0:
			name, size, _ := strings.Cut(string(header), " ")
			kind, err := plumbing.ParseObjectType(name)
			if err != nil {
				return plumbing.InvalidObject, 0, err
			}
			length, err := strconv.ParseInt(size, 10, 64)
			if err == nil && length < 0 {
				err = errors.New("an object says that its size is negative")
			}
			return kind, length, err
		case len(header) == maxLooseHeader:
			return plumbing.InvalidObject, 0, errors.New("an object does not begin with its type and size")
		}
		header = append(header, b)
	}
}
