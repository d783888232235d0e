package local

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// identPool has a taint that is gone where git writes the keyword $Id$ out.
const identPool = "{\"note\":\"$Id:\",\"taint\":\"NoExecute\"}\t#$\"}\n"

// checkedOut makes a commit, and has git write all files anew, as a clone does.
func checkedOut(t *testing.T, r *sources.Repo, files map[string]string, config ...string) {
	t.Helper()
	for _, each := range config {
		key, value, _ := strings.Cut(each, "=")
		r.Git("config", key, value)
	}
	attributes := map[string]string{}
	for name, text := range files {
		if filepath.Base(name) == ".gitattributes" {
			attributes[name] = text
		}
	}
	// The attributes come last, or git would undo what they do when it takes the files.
	for name := range attributes {
		delete(files, name)
	}
	r.Commit(files)
	for name, text := range attributes {
		r.Write(name, text)
		r.Git("add", name)
	}
	r.Git("commit", "--quiet", "--allow-empty", "--message=attributes")
	for name := range files {
		if err := os.RemoveAll(filepath.Join(r.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("checkout", "--quiet", "--", ".")
}

// bothWays reads a folder as diff does, and as validate does.
func bothWays(t *testing.T, r *sources.Repo, folder string) (*source.Snapshot, error) {
	t.Helper()
	snapshot, err := open(t, r.Dir).WorkTree(t.Context(), folder)
	checked, checkedErr := Checkout(filepath.Join(r.Dir, folder))
	if source.Reason(err) != source.Reason(checkedErr) {
		t.Errorf("the working tree gives %v, and its folder %v", err, checkedErr)
	}
	if err == nil && checkedErr == nil {
		if diff := cmp.Diff(snapshot.Untracked, checked.Untracked); diff != "" {
			t.Errorf("untracked files: %s", diff)
		}
		sources.WantFiles(t, checked, sources.Contents(t, snapshot.Files))
	}
	return snapshot, err
}

// What git writes into a working tree is not always what the commit has.
func TestWorkTreeOfConvertedFiles(t *testing.T) {
	old := time.Unix(1_700_000_000, 0)
	touch := func(t *testing.T, r *sources.Repo) {
		if err := os.Chtimes(filepath.Join(r.Dir, "pools/a.yaml"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(_ *testing.T, r *sources.Repo) { r.Write("pools/a.yaml", "edited: true\n") }
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		config []string
		then   func(t *testing.T, r *sources.Repo)
		want   error
	}{
		"nothing":           {"the bytes are those of the commit", map[string]string{}, nil, nil, nil},
		"ident":             {"git expands $Id$", map[string]string{".gitattributes": "*.yaml ident"}, nil, nil, source.ErrConverted},
		"ident, touched":    {"a copy of a clone has other times", map[string]string{".gitattributes": "*.yaml ident"}, nil, touch, source.ErrConverted},
		"ident in a folder": {"a file of attributes may be in each", map[string]string{"pools/.gitattributes": "/*.yaml\tident"}, nil, touch, source.ErrConverted},
		"ident from below": {"and so may be in a folder of the pools", map[string]string{"pools/sub/a.yaml": identPool, "pools/sub/.gitattributes": "a.yaml ident"}, nil, func(t *testing.T, r *sources.Repo) {
			if err := os.Chtimes(filepath.Join(r.Dir, "pools/sub/a.yaml"), old, old); err != nil {
				t.Fatal(err)
			}
		}, source.ErrConverted},
		"ident by a path":    {"from the root", map[string]string{".gitattributes": "pools/**/*.yaml ident\npools/a.yaml ident"}, nil, touch, source.ErrConverted},
		"ident by a macro":   {"a name for several attributes", map[string]string{".gitattributes": "[attr]odd ident\n*.yaml odd"}, nil, touch, source.ErrConverted},
		"ident quoted":       {"a pattern in quotes", map[string]string{".gitattributes": "\"*.yaml\" ident"}, nil, touch, source.ErrConverted},
		"ident of others":    {"it has none for this file", map[string]string{".gitattributes": "*.c ident"}, nil, edit, nil},
		"ident taken back":   {"the last line counts", map[string]string{".gitattributes": "* ident\n*.yaml -ident"}, nil, edit, nil},
		"edited":             {"a change is what is looked at", map[string]string{}, nil, edit, nil},
		"edited with ident":  {"a commit of it would be another", map[string]string{".gitattributes": "*.yaml ident"}, nil, edit, source.ErrConverted},
		"encoding":           {"UTF-16 of what is UTF-8 in Git", map[string]string{".gitattributes": "*.yaml working-tree-encoding=UTF-16"}, nil, nil, source.ErrConverted},
		"encoding, touched":  {"a copy of a clone has other times", map[string]string{".gitattributes": "*.yaml working-tree-encoding=UTF-16"}, nil, touch, source.ErrConverted},
		"filter":             {"a program of the configuration", map[string]string{".gitattributes": "*.yaml filter=odd"}, []string{"filter.odd.smudge=sed s/NoExecute/none/"}, nil, source.ErrConverted},
		"filter, touched":    {"a copy of a clone has other times", map[string]string{".gitattributes": "*.yaml filter=odd"}, []string{"filter.odd.smudge=sed s/NoExecute/none/"}, touch, source.ErrConverted},
		"filter, not set up": {"then git does nothing", map[string]string{".gitattributes": "*.yaml filter=odd"}, nil, nil, nil},
		"line endings":       {"YAML is the same with each", map[string]string{".gitattributes": "*.yaml text eol=crlf"}, nil, nil, nil},
		"autocrlf":           {"as on Windows", map[string]string{}, []string{"core.autocrlf=true"}, nil, nil},
		"export-subst":       {"of archives alone", map[string]string{".gitattributes": "*.yaml export-subst"}, nil, nil, nil},
		"not looked at": {"git says that nothing has changed", map[string]string{}, nil, func(t *testing.T, r *sources.Repo) {
			r.Git("update-index", "--assume-unchanged", "pools/a.yaml")
			edit(t, r)
		}, source.ErrConverted},
		"left out and there": {"git says that nothing has changed", map[string]string{}, nil, func(t *testing.T, r *sources.Repo) {
			r.Git("update-index", "--skip-worktree", "pools/a.yaml")
			edit(t, r)
		}, source.ErrConverted},
		"left out": {"it would look deleted", map[string]string{}, nil, func(t *testing.T, r *sources.Repo) {
			r.Git("update-index", "--skip-worktree", "pools/a.yaml")
			if err := os.Remove(filepath.Join(r.Dir, "pools/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, source.ErrIncomplete},
		"deleted": {"a change", map[string]string{}, nil, func(t *testing.T, r *sources.Repo) {
			if err := os.Remove(filepath.Join(r.Dir, "pools/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"new with ident": {"a commit of it would be another", map[string]string{".gitattributes": "n*.yaml ident"}, nil, func(_ *testing.T, r *sources.Repo) { r.Write("pools/new.yaml", "a") }, source.ErrConverted},
		"a split index":  {"half of the entries", map[string]string{}, nil, func(_ *testing.T, r *sources.Repo) { r.Git("update-index", "--split-index") }, source.ErrUnsupported},
		"version 4":      {"names without what they share", map[string]string{".gitattributes": "*.yaml ident"}, nil, func(_ *testing.T, r *sources.Repo) { r.Git("update-index", "--index-version=4") }, source.ErrConverted},
		"attributes of the clone": {"not in any commit", map[string]string{}, nil, func(t *testing.T, r *sources.Repo) {
			r.Write(".git/info/attributes", "*.yaml ident\n")
			edit(t, r)
		}, source.ErrConverted},
		"a link in Git": {"a file where links cannot be", map[string]string{"pools/l.yaml": "-> a.yaml"}, []string{"core.symlinks=false"}, nil, source.ErrFile},
	} {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			files := map[string]string{"pools/a.yaml": identPool, "pools/b.yaml": "b: 1\n", "pools/logo.png": "$Id$"}
			for name, text := range c.files {
				files[name] = text
			}
			checkedOut(t, r, files, c.config...)
			if c.then != nil {
				c.then(t, r)
			}
			_, err := bothWays(t, r, "pools")
			if c.want == nil {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			if errors.Is(c.want, source.ErrConverted) && (!strings.Contains(err.Error(), ".yaml") || !strings.Contains(source.Hint(err), "HEAD")) {
				t.Errorf("%v does not say which file, or what to do: %s", err, source.Hint(err))
			}
			// The commit is what it is, whatever the working tree has.
			if errors.Is(c.want, source.ErrConverted) {
				snapshot, err := open(t, r.Dir).Snapshot(t.Context(), "sha1:"+r.Git("rev-parse", "HEAD"), "pools")
				if err != nil || sources.Contents(t, snapshot.Files)["a.yaml"] != identPool {
					t.Errorf("the commit has %v, %v", sources.Contents(t, snapshot.Files), err)
				}
			}
		})
	}
}

// A single file is held against Git as well, and what is in no repository is not.
func TestCheckoutOfAFile(t *testing.T) {
	r := sources.NewRepo(t)
	checkedOut(t, r, map[string]string{"pools/a.yaml": identPool, "pools/b.yaml": "b: 1\n", ".gitattributes": "a.yaml ident"})
	_, err := Checkout(filepath.Join(r.Dir, "pools/a.yaml"))
	sources.WantError(t, err, source.ErrConverted)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(r.Dir, "pools"), link); err != nil {
		t.Fatal(err)
	}
	_, err = Checkout(link)
	sources.WantError(t, err, source.ErrConverted)
	alias := filepath.Join(t.TempDir(), "alias.yaml")
	if err := os.Symlink(filepath.Join(r.Dir, "pools/a.yaml"), alias); err != nil {
		t.Fatal(err)
	}
	_, err = Checkout(alias)
	sources.WantError(t, err, source.ErrConverted)
	if _, err := Checkout(filepath.Join(r.Dir, "pools/b.yaml")); err != nil {
		t.Errorf("a file that has no ident gives %v", err)
	}
	alone := t.TempDir()
	if err := os.CopyFS(alone, os.DirFS(filepath.Join(r.Dir, "pools"))); err != nil {
		t.Fatal(err)
	}
	if snapshot, err := Checkout(alone); err != nil || len(snapshot.Untracked) > 0 {
		t.Errorf("what is in no repository gives %v, %v", snapshot, err)
	}
	sha256 := sources.NewRepo(t, "--object-format=sha256")
	sha256.Commit(map[string]string{"a.yaml": "a"})
	if _, err := Checkout(sha256.Dir); err != nil {
		t.Errorf("a repository that no source can follow gives %v", err)
	}
	reftable := sources.NewRepo(t)
	checkedOut(t, reftable, map[string]string{"a.yaml": identPool, ".gitattributes": "*.yaml ident"}, "core.repositoryFormatVersion=1")
	reftable.Git("config", "extensions.refStorage", "reftable") // git itself is not asked any more
	_, err = Checkout(reftable.Dir)
	sources.WantError(t, err, source.ErrConverted)
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
	checkedOut(t, r, map[string]string{"pools/a.yaml": "a", ".gitignore": "ignored.yaml"})
	for _, name := range []string{"new.yaml", "ignored.yaml", "README.md"} {
		r.Write("pools/"+name, "x")
	}
	snapshot, err := bothWays(t, r, "pools")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ignored.yaml", "new.yaml"}; !slices.Equal(snapshot.Untracked, want) {
		t.Errorf("untracked are %q, want %q", snapshot.Untracked, want)
	}
}

// A file system that does not distinguish a from A keeps one of the two files. This one does,
// so that the other is deleted here.
func TestWorkTreeOfNamesThatDifferInCase(t *testing.T) {
	r := sources.NewRepo(t)
	checkedOut(t, r, map[string]string{"pools/a.yaml": "a", "pools/A.yaml": "b"})
	if _, err := bothWays(t, r, "pools"); err != nil {
		t.Errorf("both are there: %v", err)
	}
	if err := os.Remove(filepath.Join(r.Dir, "pools/A.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := bothWays(t, r, "pools")
	sources.WantError(t, err, source.ErrFile)
}

// An index that lies says so, and takes no memory.
func TestIndexThatLies(t *testing.T) {
	r := sources.NewRepo(t)
	checkedOut(t, r, map[string]string{"pools/a.yaml": "a", "pools/b.yaml": "b"})
	file := filepath.Join(r.Dir, ".git/index")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to ...byte) []byte {
		data := slices.Clone(whole)
		copy(data[at:], to)
		return data
	}
	for name, data := range map[string][]byte{
		"no index":             []byte("DIRX"),
		"version 9":            changed(7, 9),
		"more entries":         changed(8, 0xff, 0xff, 0xff, 0xff),
		"cut off":              whole[:80],
		"empty":                {},
		"names without an end": changed(7, 4, 0, 0, 0, 2),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			err := withinMemory(t, func() error { _, err := Checkout(filepath.Join(r.Dir, "pools")); return err })
			sources.WantError(t, err, source.ErrUnreadable)
		})
	}
	// Version 4 shares the beginnings of names: a file of a megabyte would stand for
	// names of gigabytes.
	header := whole[:12+indexEntryBytes]
	long := append(slices.Clone(header), 0)
	long = append(append(long, strings.Repeat("x", 100_000)...), 0)
	for range 10_000 {
		long = append(append(long, whole[12:12+indexEntryBytes]...), 0, 'x', 0)
	}
	copy(long[4:], []byte{0, 0, 0, 4, 0, 0, 0x27, 0x11})
	if err := os.WriteFile(file, append(long, make([]byte, 20)...), 0o644); err != nil {
		t.Fatal(err)
	}
	sources.WantError(t, withinMemory(t, func() error { _, err := Checkout(filepath.Join(r.Dir, "pools")); return err }), source.ErrUnreadable)
}
