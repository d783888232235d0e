package artifacts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A release replaces one, and nothing else: what is there may be somebody's work.
func TestFolderIsReplacedAsAWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin", "release")
	if err := (folder{"a": []byte("1"), "b": []byte("2")}).write(dir); err != nil {
		t.Fatal(err)
	}
	if err := (folder{"a": []byte("3")}).write(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if want := "4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce  a\n"; err != nil || string(sums) != want {
		t.Errorf("checksums are %q (%v), want %q", sums, err, want)
	}
	around, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(around) != 1 {
		t.Errorf("%d left beside the folder, %v", len(around)-1, err)
	}
}

// A folder of something else is refused, whatever it has beside.
func TestFolderOfSomethingElseStays(t *testing.T) {
	for reason, c := range map[string]struct {
		files []string // with what they hold behind =, and folders with / at the end
		says  string
	}{
		"no checksums":             {[]string{"notes.txt="}, "it has no checksums.txt"},
		"a file that is not of it": {[]string{"checksums.txt=0  a\n", "a=", "notes.txt="}, "notes.txt is not one of the files"},
		"checksums of others":      {[]string{"checksums.txt=0  *a\n", "a="}, "a is not one of the files"},
		"a folder":                 {[]string{"checksums.txt=0  a\n", "a/"}, "a is not one of the files"},
		"checksums in a folder":    {[]string{"checksums.txt/"}, "it has no checksums.txt"},
		"a link":                   {[]string{"checksums.txt=0  a\n", "a@"}, "a is not one of the files"},
	} {
		t.Run(reason, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				name, content, _ := strings.Cut(file, "=")
				var err error
				switch {
				case strings.HasSuffix(name, "/"):
					err = os.Mkdir(filepath.Join(dir, name), 0o755)
				case strings.HasSuffix(name, "@"):
					err = os.Symlink("checksums.txt", filepath.Join(dir, strings.TrimSuffix(name, "@")))
				default:
					err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := (folder{"b": nil}).write(dir); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(c.files) {
				t.Errorf("%d of %d left, %v", len(entries), len(c.files), err)
			}
		})
	}
}
