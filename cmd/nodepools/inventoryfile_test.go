package main

import (
	"io"
	"os"
	"path/filepath"
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
	if err := replaceFile(link, []byte("after")); err != nil {
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
	if err := replaceFile(filepath.Join(folder, "new.json"), nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "new.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("a new file: %v, %v", info, err)
	}
}
