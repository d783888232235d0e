package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// What git leaves out of a working tree would look deleted, and what was deleted is.
func TestWorkTreeByTheIndex(t *testing.T) {
	remove := func(t *testing.T, r *sources.Repo) {
		if err := os.Remove(filepath.Join(r.Dir, "pools/a.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		then func(t *testing.T, r *sources.Repo)
		want error
	}{
		"edited":  {func(_ *testing.T, r *sources.Repo) { r.Write("pools/a.yaml", "edited: true\n") }, nil},
		"deleted": {remove, nil},
		"left out": {func(t *testing.T, r *sources.Repo) {
			r.Git("update-index", "--skip-worktree", "pools/a.yaml")
			remove(t, r)
		}, source.ErrIncomplete},
		"left out, by name and folder": {func(_ *testing.T, r *sources.Repo) { r.Git("sparse-checkout", "set", "--sparse-index", "other") }, source.ErrIncomplete},
		"another folder left out":      {func(_ *testing.T, r *sources.Repo) { r.Git("sparse-checkout", "set", "--sparse-index", "pools") }, nil},
		"without a checksum":           {func(_ *testing.T, r *sources.Repo) { r.Git("-c", "index.skipHash=true", "add", "--renormalize", ".") }, nil},
		"version 4":                    {func(_ *testing.T, r *sources.Repo) { r.Git("update-index", "--index-version=4") }, nil},
		"a split index":                {func(_ *testing.T, r *sources.Repo) { r.Git("update-index", "--split-index") }, source.ErrUnsupported},
		"no index":                     {func(_ *testing.T, r *sources.Repo) { r.Write(".git/index", "DIRX") }, source.ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			r.Commit(map[string]string{"pools/a.yaml": "a", "pools/b.yaml": "b", "other/c.yaml": "c"})
			c.then(t, r)
			snapshot, err := open(t, r.Dir).WorkTree(t.Context(), "pools")
			checked, checkedErr := Checkout(filepath.Join(r.Dir, "pools"))
			if name == "left out, by name and folder" {
				checkedErr = err // the folder is gone, and only the clone tells why
			}
			if c.want != nil {
				sources.WantError(t, err, c.want)
				sources.WantError(t, checkedErr, c.want)
				return
			}
			if err != nil || checkedErr != nil {
				t.Fatal(err, checkedErr)
			}
			sources.WantFiles(t, checked, sources.Contents(t, snapshot.Files))
			if diff := cmp.Diff([]string(nil), snapshot.Untracked); diff != "" {
				t.Errorf("untracked files: %s", diff)
			}
		})
	}
}

// What is in no repository that can be read is taken as it is.
func TestCheckoutOutsideOfGit(t *testing.T) {
	alone := t.TempDir()
	if err := os.WriteFile(filepath.Join(alone, "a.yaml"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	sha256 := sources.NewRepo(t, "--object-format=sha256")
	sha256.Commit(map[string]string{"a.yaml": "a"})
	for _, name := range []string{alone, sha256.Dir, filepath.Join(sha256.Dir, "a.yaml")} {
		snapshot, err := Checkout(name)
		if err != nil {
			t.Fatal(err)
		}
		sources.WantFiles(t, snapshot, map[string]string{"a.yaml": "a"})
	}
}

// A submodule that is not fetched is an empty folder, or none.
func TestWorkTreeOfASubmodule(t *testing.T) {
	for name, c := range map[string]struct {
		reason, at string
		then       func(r *sources.Repo) error
		want       error
	}{
		"below an empty folder": {"as a clone leaves it", "pools/sub", func(r *sources.Repo) error { return os.MkdirAll(filepath.Join(r.Dir, "pools/sub"), 0o755) }, source.ErrFile},
		"below nothing":         {"the folder was deleted", "pools/sub", func(*sources.Repo) error { return nil }, source.ErrFile},
		"the folder itself":     {"it has no file", "pools", func(r *sources.Repo) error { return os.RemoveAll(filepath.Join(r.Dir, "pools")) }, source.ErrPathNotFolder},
		"files in its place":    {"a commit has none of them", "pools/sub", func(r *sources.Repo) error { r.Write("pools/sub/a.yaml", "a"); return nil }, source.ErrFile},
	} {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			commit := r.Commit(map[string]string{"pools/a.yaml": "a"})
			if c.at == "pools" {
				r.Git("rm", "--quiet", "-r", "pools")
			}
			r.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+c.at)
			r.Git("commit", "--quiet", "--message", "submodule")
			if err := c.then(r); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, r.Dir).WorkTree(t.Context(), "pools")
			sources.WantError(t, err, c.want)
			if _, err := os.Stat(filepath.Join(r.Dir, "pools")); err == nil {
				_, err = Checkout(filepath.Join(r.Dir, "pools"))
				sources.WantError(t, err, c.want)
			}
		})
	}
}

func TestWorkTreeNamesWhatGitDoesNotTrack(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", ".gitignore": "ignored.yaml"})
	for _, name := range []string{"new.yaml", "ignored.yaml", "README.md"} {
		r.Write("pools/"+name, "x")
	}
	snapshot, err := open(t, r.Dir).WorkTree(t.Context(), "pools")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ignored.yaml", "new.yaml"}; !slices.Equal(snapshot.Untracked, want) {
		t.Errorf("untracked are %q, want %q", snapshot.Untracked, want)
	}
}
