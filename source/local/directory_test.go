package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
	"github.com/nodepools/nodepools/testdata/sources"
)

// folder makes a directory of files, with "-> " for links.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dir")
	for name, content := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDirectory(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.yaml": "a", "sub/b.yml": "b", ".git/config": "no", "sub/.git": "no",
		"README.md": "-> sub/b.txt", "sub/b.txt": "text",
	})
	for _, path := range []string{dir, dir + "/", dir + "/./sub/.."} {
		snapshot, err := Directory(path)
		if err != nil {
			t.Fatal(err)
		}
		sources.WantFiles(t, snapshot, map[string]string{"a.yaml": "a", "sub/b.yml": "b"})
		if snapshot.Revision != "" || snapshot.TreeHash != "" {
			t.Errorf("a directory has no revision: %+v", snapshot)
		}
		if err := fstest.TestFS(snapshot.Files, "a.yaml", "sub/b.yml"); err != nil {
			t.Error(err)
		}
	}
	t.Run("one file", func(t *testing.T) {
		snapshot, err := Directory(filepath.Join(dir, "sub", "b.yml"))
		if err != nil {
			t.Fatal(err)
		}
		sources.WantFiles(t, snapshot, map[string]string{"b.yml": "b"})
	})
	t.Run("the folder itself by a link", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(filepath.Join(dir, "sub"), link); err != nil {
			t.Fatal(err)
		}
		snapshot, err := Directory(link)
		if err != nil {
			t.Fatal(err)
		}
		sources.WantFiles(t, snapshot, map[string]string{"b.yml": "b"})
	})
}

func TestDirectoryRefuses(t *testing.T) {
	outside := folder(t, map[string]string{"secret.yaml": "secret", "secret.txt": "secret"})
	small := poolfile.Limits{Names: 100, Entries: 4, FileBytes: 10, TotalBytes: 15, Depth: 2}
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   error
		names  string
	}{
		"no file":           {"a folder without files is not an order to delete", map[string]string{".git/x": "x"}, source.ErrPathEmpty, ""},
		"link to YAML":      {"left out, it would read as deleted", map[string]string{"a.yaml": "-> b.txt", "b.txt": "b"}, source.ErrFile, "a.yaml"},
		"link out":          {"not followed", map[string]string{"a": "-> " + outside}, source.ErrFile, "a"},
		"YAML link out":     {"not followed", map[string]string{"a.yml": "-> " + outside + "/secret.yaml"}, source.ErrFile, "a.yml"},
		"folder link":       {"pools may be behind it", map[string]string{"sub": "-> dir", "dir/a.yaml": "a"}, source.ErrFile, "sub"},
		"dangling":          {"pools may have been behind it", map[string]string{"sub": "-> nowhere", "a.yaml": "a"}, source.ErrFile, "sub"},
		"loop":              {"leads nowhere", map[string]string{"x": "-> x", "a.yaml": "a"}, source.ErrFile, "x"},
		"large":             {"one file", map[string]string{"a.yaml": strings.Repeat("a", 11)}, source.ErrTooLarge, "a.yaml"},
		"large together":    {"all files", map[string]string{"a.yaml": strings.Repeat("a", 8), "b.yaml": strings.Repeat("a", 8)}, source.ErrTooLarge, "b.yaml"},
		"many":              {"pool files and folders", map[string]string{"a.yaml": "a", "b.yml": "b", "c/c": "c", "d/d": "d", "e.yaml": "e"}, source.ErrTooLarge, "e"},
		"deep":              {"folders in folders", map[string]string{"a/b/c/d": "d"}, source.ErrTooLarge, "a/b/c"},
		"control character": {"could forge a line in a log", map[string]string{"a\n.yaml": "a"}, source.ErrFile, `a\n.yaml`},
		"right to left":     {"could show another name than it is", map[string]string{"a\u202Elmay.yaml": "a"}, source.ErrFile, `a\u202elmay.yaml`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := directory(folder(t, c.files), small)
			sources.WantError(t, err, c.want)
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %v does not name %s", c.reason, err, c.names)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		_, err := Directory(filepath.Join(outside, "nope"))
		sources.WantError(t, err, source.ErrPathMissing)
	})
	t.Run("no name", func(t *testing.T) {
		_, err := Directory("")
		sources.WantError(t, err, source.ErrPathMissing)
	})
	t.Run("pipe", func(t *testing.T) {
		dir := folder(t, map[string]string{"b.yaml": "b"})
		sources.Pipe(t, filepath.Join(dir, "a.yaml"))
		_, err := Directory(dir)
		sources.WantError(t, err, source.ErrFile)
		_, err = Directory(filepath.Join(dir, "a.yaml"))
		sources.WantError(t, err, source.ErrFile)
	})
	t.Run("unreadable", func(t *testing.T) {
		dir := folder(t, map[string]string{"a.yaml": "a", "b.yaml": "b"})
		if err := os.Chmod(filepath.Join(dir, "b.yaml"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(dir, "b.yaml")); err == nil {
			t.Skip("this user may read everything")
		}
		_, err := Directory(dir)
		sources.WantError(t, err, source.ErrUnreadable)
		if !strings.Contains(err.Error(), "b.yaml") {
			t.Errorf("%v does not name the file", err)
		}
	})
}
