package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source/local"
)

// The files that a source brings are those that are read: one that is left out would
// look deleted, and one more would be in the way for nothing.
func TestSourcesBringTheFilesThatAreRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a.yaml", "A.YML", "b.YaMl", "a.b.yml", "a.yaml/b.yaml", "é.yaml", "sub/deep/a.yml",
		".a.yaml", ".yaml", ".yml", "..yaml", ".hidden/a.yaml", "sub/.hidden/deep/a.yaml",
		"yaml", "yml", "a", "a.json", "a.yaml.bak", "a.yaml~", "a.yaml ", "a.yaml.", "a.yamlx", "ayaml", "README.md", "a.ymal",
	} {
		full := filepath.Join(dir, name)
		if name == "a.yaml" {
			full = filepath.Join(dir, "first.yaml") // there is a folder of that name
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte("not a pool"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var problems render.Problems
	if _, err := render.Load(os.DirFS(dir)); !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var read, brought []string
	for _, problem := range problems {
		read = append(read, problem.File)
	}
	snapshot, err := local.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(snapshot.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			brought = append(brought, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(read)
	slices.Sort(brought)
	if diff := cmp.Diff(read, brought); diff != "" || len(read) != 7 {
		t.Errorf("%d files are read (-read +brought):\n%s", len(read), diff)
	}
}
