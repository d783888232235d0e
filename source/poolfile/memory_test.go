package poolfile

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestMemory(t *testing.T) {
	m := newMemory()
	m.add("b", &node{folder: true})
	m.add("b/z", &node{data: []byte("z")})
	m.add("a.yaml", &node{data: []byte("a")})
	m.add("b/empty", &node{})
	m.sort()
	if err := fstest.TestFS(m, "a.yaml", "b/z", "b/empty"); err != nil {
		t.Error(err)
	}
	cases := map[string]struct {
		reason string
		call   func() error
		want   error
	}{
		"missing":         {"no such file", func() error { _, err := m.Open("c"); return err }, fs.ErrNotExist},
		"outside":         {"no way out", func() error { _, err := m.Open("../a.yaml"); return err }, fs.ErrInvalid},
		"folder as file":  {"a folder has no content", func() error { _, err := m.ReadFile("b"); return err }, fs.ErrInvalid},
		"file as folder":  {"a file has no entries", func() error { _, err := m.ReadDir("a.yaml"); return err }, fs.ErrInvalid},
		"missing to stat": {"no such file", func() error { _, err := m.Stat("c"); return err }, fs.ErrNotExist},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := c.call(); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v", c.reason, err)
			}
		})
	}
}
