package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// identPool has a taint that is gone where git writes the keyword $Id$ out.
const identPool = "{\"note\":\"$Id:\",\"taint\":\"NoExecute\"}\t#$\"}\n"

// checkedOut makes a commit, and has git write all files anew, as a clone does.
func checkedOut(r *repo, files map[string]string, config ...string) {
	r.t.Helper()
	for _, each := range config {
		key, value, _ := strings.Cut(each, "=")
		r.git("config", key, value)
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
	r.commit(files)
	for name, text := range attributes {
		r.write(name, text)
		r.git("add", name)
	}
	r.git("commit", "--quiet", "--allow-empty", "--message=attributes")
	for name := range files {
		if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("checkout", "--quiet", "--", ".")
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	full := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

// bothWays reads a folder as diff does, and as validate does.
func bothWays(t *testing.T, r *repo, folder string) (*Snapshot, error) {
	t.Helper()
	snapshot, err := openLocal(t, r.dir).WorkTree(t.Context(), folder)
	checked, checkedErr := Checkout(filepath.Join(r.dir, folder))
	if Reason(err) != Reason(checkedErr) {
		t.Errorf("the working tree gives %v, and its folder %v", err, checkedErr)
	}
	if err == nil && checkedErr == nil {
		if diff := cmp.Diff(snapshot.Untracked, checked.Untracked); diff != "" {
			t.Errorf("untracked files: %s", diff)
		}
		wantFiles(t, checked, contents(t, snapshot.Files))
	}
	return snapshot, err
}

// What git writes into a working tree is not always what the commit has.
func TestWorkTreeOfConvertedFiles(t *testing.T) {
	old := time.Unix(1_700_000_000, 0)
	touch := func(t *testing.T, r *repo) {
		if err := os.Chtimes(filepath.Join(r.dir, "pools/a.yaml"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(_ *testing.T, r *repo) { r.write("pools/a.yaml", "edited: true\n") }
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		config []string
		then   func(t *testing.T, r *repo)
		want   error
	}{
		"nothing":           {"the bytes are those of the commit", map[string]string{}, nil, nil, nil},
		"ident":             {"git expands $Id$", map[string]string{".gitattributes": "*.yaml ident"}, nil, nil, ErrConverted},
		"ident, touched":    {"a copy of a clone has other times", map[string]string{".gitattributes": "*.yaml ident"}, nil, touch, ErrConverted},
		"ident in a folder": {"a file of attributes may be in each", map[string]string{"pools/.gitattributes": "/*.yaml\tident"}, nil, touch, ErrConverted},
		"ident from below": {"and so may be in a folder of the pools", map[string]string{"pools/sub/a.yaml": identPool, "pools/sub/.gitattributes": "a.yaml ident"}, nil, func(t *testing.T, r *repo) {
			if err := os.Chtimes(filepath.Join(r.dir, "pools/sub/a.yaml"), old, old); err != nil {
				t.Fatal(err)
			}
		}, ErrConverted},
		"ident by a path":    {"from the root", map[string]string{".gitattributes": "pools/**/*.yaml ident\npools/a.yaml ident"}, nil, touch, ErrConverted},
		"ident by a macro":   {"a name for several attributes", map[string]string{".gitattributes": "[attr]odd ident\n*.yaml odd"}, nil, touch, ErrConverted},
		"ident quoted":       {"a pattern in quotes", map[string]string{".gitattributes": "\"*.yaml\" ident"}, nil, touch, ErrConverted},
		"ident of others":    {"it has none for this file", map[string]string{".gitattributes": "*.c ident"}, nil, edit, nil},
		"ident taken back":   {"the last line counts", map[string]string{".gitattributes": "* ident\n*.yaml -ident"}, nil, edit, nil},
		"edited":             {"a change is what is looked at", map[string]string{}, nil, edit, nil},
		"edited with ident":  {"a commit of it would be another", map[string]string{".gitattributes": "*.yaml ident"}, nil, edit, ErrConverted},
		"encoding":           {"UTF-16 of what is UTF-8 in Git", map[string]string{".gitattributes": "*.yaml working-tree-encoding=UTF-16"}, nil, nil, ErrConverted},
		"encoding, touched":  {"a copy of a clone has other times", map[string]string{".gitattributes": "*.yaml working-tree-encoding=UTF-16"}, nil, touch, ErrConverted},
		"filter":             {"a program of the configuration", map[string]string{".gitattributes": "*.yaml filter=odd"}, []string{"filter.odd.smudge=sed s/NoExecute/none/"}, nil, ErrConverted},
		"filter, touched":    {"a copy of a clone has other times", map[string]string{".gitattributes": "*.yaml filter=odd"}, []string{"filter.odd.smudge=sed s/NoExecute/none/"}, touch, ErrConverted},
		"filter, not set up": {"then git does nothing", map[string]string{".gitattributes": "*.yaml filter=odd"}, nil, nil, nil},
		"line endings":       {"YAML is the same with each", map[string]string{".gitattributes": "*.yaml text eol=crlf"}, nil, nil, nil},
		"autocrlf":           {"as on Windows", map[string]string{}, []string{"core.autocrlf=true"}, nil, nil},
		"export-subst":       {"of archives alone", map[string]string{".gitattributes": "*.yaml export-subst"}, nil, nil, nil},
		"not looked at": {"git says that nothing has changed", map[string]string{}, nil, func(t *testing.T, r *repo) {
			r.git("update-index", "--assume-unchanged", "pools/a.yaml")
			edit(t, r)
		}, ErrConverted},
		"left out and there": {"git says that nothing has changed", map[string]string{}, nil, func(t *testing.T, r *repo) {
			r.git("update-index", "--skip-worktree", "pools/a.yaml")
			edit(t, r)
		}, ErrConverted},
		"left out": {"it would look deleted", map[string]string{}, nil, func(t *testing.T, r *repo) {
			r.git("update-index", "--skip-worktree", "pools/a.yaml")
			if err := os.Remove(filepath.Join(r.dir, "pools/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, ErrIncomplete},
		"deleted": {"a change", map[string]string{}, nil, func(t *testing.T, r *repo) {
			if err := os.Remove(filepath.Join(r.dir, "pools/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"new with ident": {"a commit of it would be another", map[string]string{".gitattributes": "n*.yaml ident"}, nil, func(_ *testing.T, r *repo) { r.write("pools/new.yaml", "a") }, ErrConverted},
		"a split index":  {"half of the entries", map[string]string{}, nil, func(_ *testing.T, r *repo) { r.git("update-index", "--split-index") }, ErrUnsupported},
		"version 4":      {"names without what they share", map[string]string{".gitattributes": "*.yaml ident"}, nil, func(_ *testing.T, r *repo) { r.git("update-index", "--index-version=4") }, ErrConverted},
		"attributes of the clone": {"not in any commit", map[string]string{}, nil, func(t *testing.T, r *repo) {
			r.write(".git/info/attributes", "*.yaml ident\n")
			edit(t, r)
		}, ErrConverted},
		"a link in Git": {"a file where links cannot be", map[string]string{"pools/l.yaml": "-> a.yaml"}, []string{"core.symlinks=false"}, nil, ErrFile},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			files := map[string]string{"pools/a.yaml": identPool, "pools/b.yaml": "b: 1\n", "pools/logo.png": "$Id$"}
			for name, text := range c.files {
				files[name] = text
			}
			checkedOut(r, files, c.config...)
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
			wantError(t, err, c.want)
			if errors.Is(c.want, ErrConverted) && (!strings.Contains(err.Error(), ".yaml") || !strings.Contains(Hint(err), "HEAD")) {
				t.Errorf("%v does not say which file, or what to do: %s", err, Hint(err))
			}
			// The commit is what it is, whatever the working tree has.
			if errors.Is(c.want, ErrConverted) {
				snapshot, err := openLocal(t, r.dir).Snapshot(t.Context(), "sha1:"+r.git("rev-parse", "HEAD"), "pools")
				if err != nil || contents(t, snapshot.Files)["a.yaml"] != identPool {
					t.Errorf("the commit has %v, %v", contents(t, snapshot.Files), err)
				}
			}
		})
	}
}

// A single file is held against Git as well, and what is in no repository is not.
func TestCheckoutOfAFile(t *testing.T) {
	r := newRepo(t)
	checkedOut(r, map[string]string{"pools/a.yaml": identPool, "pools/b.yaml": "b: 1\n", ".gitattributes": "a.yaml ident"})
	_, err := Checkout(filepath.Join(r.dir, "pools/a.yaml"))
	wantError(t, err, ErrConverted)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(r.dir, "pools"), link); err != nil {
		t.Fatal(err)
	}
	_, err = Checkout(link)
	wantError(t, err, ErrConverted)
	alias := filepath.Join(t.TempDir(), "alias.yaml")
	if err := os.Symlink(filepath.Join(r.dir, "pools/a.yaml"), alias); err != nil {
		t.Fatal(err)
	}
	_, err = Checkout(alias)
	wantError(t, err, ErrConverted)
	if _, err := Checkout(filepath.Join(r.dir, "pools/b.yaml")); err != nil {
		t.Errorf("a file that has no ident gives %v", err)
	}
	alone := t.TempDir()
	if err := os.CopyFS(alone, os.DirFS(filepath.Join(r.dir, "pools"))); err != nil {
		t.Fatal(err)
	}
	if snapshot, err := Checkout(alone); err != nil || len(snapshot.Untracked) > 0 {
		t.Errorf("what is in no repository gives %v, %v", snapshot, err)
	}
	sha256 := newRepo(t, "--object-format=sha256")
	sha256.commit(map[string]string{"a.yaml": "a"})
	if _, err := Checkout(sha256.dir); err != nil {
		t.Errorf("a repository that no source can follow gives %v", err)
	}
	reftable := newRepo(t)
	checkedOut(reftable, map[string]string{"a.yaml": identPool, ".gitattributes": "*.yaml ident"}, "core.repositoryFormatVersion=1")
	reftable.git("config", "extensions.refStorage", "reftable") // git itself is not asked any more
	_, err = Checkout(reftable.dir)
	wantError(t, err, ErrConverted)
}

// A submodule that is not fetched is an empty folder, or none.
func TestWorkTreeOfASubmodule(t *testing.T) {
	for name, c := range map[string]struct {
		reason, at string
		then       func(r *repo) error
		want       error
	}{
		"below an empty folder": {"as a clone leaves it", "pools/sub", func(r *repo) error { return os.MkdirAll(filepath.Join(r.dir, "pools/sub"), 0o755) }, ErrFile},
		"below nothing":         {"the folder was deleted", "pools/sub", func(*repo) error { return nil }, ErrFile},
		"the folder itself":     {"it has no file", "pools", func(r *repo) error { return os.RemoveAll(filepath.Join(r.dir, "pools")) }, ErrPathNotFolder},
		"files in its place":    {"a commit has none of them", "pools/sub", func(r *repo) error { r.write("pools/sub/a.yaml", "a"); return nil }, ErrFile},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			commit := r.commit(map[string]string{"pools/a.yaml": "a"})
			if c.at == "pools" {
				r.git("rm", "--quiet", "-r", "pools")
			}
			r.git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+c.at)
			r.git("commit", "--quiet", "--message", "submodule")
			if err := c.then(r); err != nil {
				t.Fatal(err)
			}
			_, err := openLocal(t, r.dir).WorkTree(t.Context(), "pools")
			wantError(t, err, c.want)
			if _, err := os.Stat(filepath.Join(r.dir, "pools")); err == nil {
				_, err = Checkout(filepath.Join(r.dir, "pools"))
				wantError(t, err, c.want)
			}
		})
	}
}

func TestWorkTreeNamesWhatGitDoesNotTrack(t *testing.T) {
	r := newRepo(t)
	checkedOut(r, map[string]string{"pools/a.yaml": "a", ".gitignore": "ignored.yaml"})
	for _, name := range []string{"new.yaml", "ignored.yaml", "README.md"} {
		r.write("pools/"+name, "x")
	}
	snapshot, err := bothWays(t, r, "pools")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ignored.yaml", "new.yaml"}; !slices.Equal(snapshot.Untracked, want) {
		t.Errorf("untracked are %q, want %q", snapshot.Untracked, want)
	}
}

// A file system that does not tell a from A keeps one of the two files. This one does,
// so that the other is deleted here.
func TestWorkTreeOfNamesThatDifferInCase(t *testing.T) {
	r := newRepo(t)
	checkedOut(r, map[string]string{"pools/a.yaml": "a", "pools/A.yaml": "b"})
	if _, err := bothWays(t, r, "pools"); err != nil {
		t.Errorf("both are there: %v", err)
	}
	if err := os.Remove(filepath.Join(r.dir, "pools/A.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := bothWays(t, r, "pools")
	wantError(t, err, ErrFile)
}

// An index that lies says so, and takes no memory.
func TestIndexThatLies(t *testing.T) {
	r := newRepo(t)
	checkedOut(r, map[string]string{"pools/a.yaml": "a", "pools/b.yaml": "b"})
	file := filepath.Join(r.dir, ".git/index")
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
			err := withinMemory(t, func() error { _, err := Checkout(filepath.Join(r.dir, "pools")); return err })
			wantError(t, err, ErrUnreadable)
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
	wantError(t, withinMemory(t, func() error { _, err := Checkout(filepath.Join(r.dir, "pools")); return err }), ErrUnreadable)
}
