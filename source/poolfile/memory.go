package poolfile

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// memory is a read-only file system in memory. It serves as its own fs.FS,
// fs.ReadDirFS, fs.ReadFileFS and fs.StatFS.
type memory struct {
	nodes map[string]*node // by full name; the root is "."
}

// node is a file or a folder; it serves as its own fs.FileInfo and fs.DirEntry.
type node struct {
	name    string
	folder  bool
	data    []byte
	entries []fs.DirEntry
}

func newMemory() *memory {
	return &memory{nodes: map[string]*node{".": {name: ".", folder: true}}}
}

// add puts n into a folder that is already there.
func (m *memory) add(name string, n *node) {
	n.name = path.Base(name)
	m.nodes[name] = n
	parent := m.nodes[path.Dir(name)]
	parent.entries = append(parent.entries, n)
}

// sort orders every folder, as fs.ReadDirFS promises. It is the last thing that
// happens to a memory before anyone sees it.
func (m *memory) sort() {
	for _, n := range m.nodes {
		slices.SortFunc(n.entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
}

func (m *memory) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n, ok := m.nodes[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (m *memory) Open(name string) (fs.File, error) {
	n, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.folder {
		return &openFolder{node: n, path: name}, nil
	}
	return &openFile{node: n, Reader: bytes.NewReader(n.data)}, nil
}

func (m *memory) Stat(name string) (fs.FileInfo, error) {
	n, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ReadFile returns a copy: who changes it does not change the snapshot.
func (m *memory) ReadFile(name string) ([]byte, error) {
	n, err := m.find("read", name)
	if err != nil {
		return nil, err
	}
	if n.folder {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return append([]byte{}, n.data...), nil
}

func (m *memory) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := m.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.folder {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return slices.Clone(n.entries), nil
}

func (n *node) Name() string               { return n.name }
func (n *node) Size() int64                { return int64(len(n.data)) }
func (n *node) ModTime() time.Time         { return time.Time{} }
func (n *node) IsDir() bool                { return n.folder }
func (n *node) Sys() any                   { return nil }
func (n *node) Type() fs.FileMode          { return n.Mode().Type() }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }
func (n *node) String() string             { return fs.FormatFileInfo(n) }

func (n *node) Mode() fs.FileMode {
	if n.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type openFile struct {
	*bytes.Reader
	node *node
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	node *node
	path string
	next int
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrInvalid}
}

func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := f.node.entries[f.next:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	f.next += len(rest)
	return slices.Clone(rest), nil
}
