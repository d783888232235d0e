package output

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever has the file open goes on reading the one before: it is never half of
// each.
func TestReplacedFileIsWhole(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "inventory.json"), filepath.Join(folder, "link.json")
	for _, err := range []error{os.WriteFile(file, []byte("before"), 0o600), os.Symlink(file, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := ReplaceFile(link, []byte("after")); err != nil {
		t.Fatal(err)
	}
	if old, err := io.ReadAll(reader); err != nil || string(old) != "before" {
		t.Errorf("who reads it meanwhile gets %q, %v", old, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "after" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v, %v", info, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("who may read it has changed: %v, %v", info, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	if err := ReplaceFile(filepath.Join(folder, "new.json"), nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "new.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("a new file: %v, %v", info, err)
	}
}

// A link stays one, and what it leads to is written, wherever that is.
func TestReplacedFileBehindLinks(t *testing.T) {
	cases := map[string]struct {
		reason string
		links  [][2]string // where, and what it says
		file   string      // that is written; none where it is refused
		want   string      // of the error
	}{
		"dangling":       {"a nightly job writes it for the first time", [][2]string{{"out.json", "elsewhere/a.json"}}, "elsewhere/a.json", ""},
		"two":            {"each link is read where it stands", [][2]string{{"out.json", "elsewhere/next.json"}, {"elsewhere/next.json", "b.json"}}, "elsewhere/b.json", ""},
		"linked folder":  {".. is that of the folder that a link leads to", [][2]string{{"there", "elsewhere/deep"}, {"out.json", "there/../c.json"}}, "elsewhere/c.json", ""},
		"loop":           {"it leads nowhere", [][2]string{{"out.json", "back.json"}, {"back.json", "out.json"}}, "", "too many links"},
		"no such folder": {"a folder is not made", [][2]string{{"out.json", "missing/a.json"}}, "", "no such file or directory"},
		"under a file":   {"what cannot be looked at is not taken for free", [][2]string{{"out.json", "plain/a.json"}}, "", "not a directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, err := range []error{os.MkdirAll(filepath.Join(folder, "elsewhere", "deep"), 0o755), os.WriteFile(filepath.Join(folder, "plain"), nil, 0o600)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, link := range c.links {
				if err := os.Symlink(link[1], filepath.Join(folder, link[0])); err != nil {
					t.Fatal(err)
				}
			}
			err := ReplaceFile(filepath.Join(folder, "out.json"), []byte("new"))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q: %s", err, c.want, c.reason)
				}
			} else if text, readErr := os.ReadFile(filepath.Join(folder, c.file)); err != nil || readErr != nil || string(text) != "new" {
				t.Errorf("%v; %s holds %q, %v: %s", err, c.file, text, readErr, c.reason)
			}
			for _, link := range c.links {
				if to, err := os.Readlink(filepath.Join(folder, link[0])); err != nil || to != link[1] {
					t.Errorf("the link %s leads to %q, %v", link[0], to, err)
				}
			}
		})
	}
}
