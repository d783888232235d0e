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
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (folder{}).write(work); err == nil || !strings.Contains(err.Error(), "is no release") {
		t.Errorf("a folder of something else: %v", err)
	}
	if _, err := os.Stat(filepath.Join(work, "notes.txt")); err != nil {
		t.Error(err)
	}
}
