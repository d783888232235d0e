package local

import (
	"cmp"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// localAnswer is what a repository on this machine says, asked for all that there is to
// ask. No file in it may keep it from coming to an end.
func localAnswer(t *testing.T, dir, revision, folder string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			l, err := Open(dir)
			if err != nil {
				return err
			}
			found, err := l.Resolve(ctx, revision)
			if err != nil {
				return err
			}
			if _, err := l.MergeBase(ctx, found, found); err != nil {
				return err
			}
			if _, err := l.Snapshot(ctx, found, folder); err != nil {
				return err
			}
			_, err = l.WorkTree(ctx, folder)
			return err
		}()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		t.Fatal("there is no answer")
		return nil
	}
}

// Each file that a repository is read from is replaced by what is none, or by one
// without end.
func TestLocalFilesOfAHostileClone(t *testing.T) {
	loose, packed := sources.NewRepo(t), sources.NewRepo(t)
	for _, r := range []*sources.Repo{loose, packed} {
		r.Commit(map[string]string{"pools/a.yaml": "a"})
	}
	packed.Git("gc", "--quiet")
	for _, name := range []string{
		".git", ".git/HEAD", ".git/config", ".git/packed-refs", ".git/index", ".git/refs/heads/main", ".git/objects/info/alternates",
		"loose object", "pack", "index of the pack",
	} {
		for kind, replace := range map[string]func(name string) error{
			"pipe":        func(name string) error { sources.Pipe(t, name); return nil },
			"without end": func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<41)) },
		} {
			t.Run(name+" is a "+kind, func(t *testing.T) {
				from, pattern := loose, name
				switch name {
				case "loose object":
					hash := plumbing.ComputeHash(plumbing.BlobObject, []byte("a")).String()
					pattern = filepath.Join(".git/objects", hash[:2], hash[2:])
				case "pack", ".git/objects/pack":
					from, pattern = packed, map[string]string{"pack": ".git/objects/pack/*.pack"}[name]
					pattern = cmp.Or(pattern, name)
				case "index of the pack":
					from, pattern = packed, ".git/objects/pack/*.idx"
				}
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(from.Dir)); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(dir, pattern)
				if found, err := filepath.Glob(file); err == nil && len(found) == 1 {
					file = found[0]
				}
				if err := errors.Join(os.RemoveAll(file), os.MkdirAll(filepath.Dir(file), 0o755), replace(file)); err != nil {
					t.Fatal(err)
				}
				revision := "main"
				if name == ".git/HEAD" {
					revision = "HEAD"
				}
				err := localAnswer(t, dir, revision, "pools")
				if err == nil {
					t.Error("nothing is said of it")
				}
				if ours := (*source.Error)(nil); err != nil && !errors.As(err, &ours) {
					t.Errorf("%T is not an *source.Error: %v", err, err)
				}
			})
		}
	}
}

func TestLocalAlternates(t *testing.T) {
	first, second := sources.NewRepo(t), sources.NewRepo(t)
	commit := first.Commit(map[string]string{"pools/a.yaml": "a"})
	second.Commit(map[string]string{"pools/a.yaml": "b"})
	name := func(in *sources.Repo, folders ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(in.Dir, ".git/objects/info/alternates"), []byte(strings.Join(folders, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objectsOf := func(r *sources.Repo) string { return filepath.Join(r.Dir, ".git/objects") }

	// Folders that name themselves and one another are read once.
	name(first, ".", objectsOf(first), objectsOf(second), "# a comment", "/nowhere")
	name(second, objectsOf(first), `"`+objectsOf(first)+`"`)
	if err := localAnswer(t, second.Dir, commit, "pools"); err != nil {
		t.Errorf("what is borrowed in a circle is not found: %v", err)
	}
	sources.WantError(t, localAnswer(t, second.Dir, strings.Repeat("1", 40), "pools"), source.ErrRefMissing)

	// A relative name is one from the folder of the objects, as git has it.
	relative, err := filepath.Rel(objectsOf(second), objectsOf(first))
	if err != nil {
		t.Fatal(err)
	}
	name(second, relative)
	if err := localAnswer(t, second.Dir, commit, "pools"); err != nil {
		t.Errorf("what is borrowed by a relative name is not found: %v", err)
	}

	last := first
	for range maxAlternateDepth + 1 {
		next := sources.NewRepo(t)
		name(next, objectsOf(last))
		last = next
	}
	sources.WantError(t, localAnswer(t, last.Dir, commit, "pools"), source.ErrTooLarge)
	var many []string
	for range maxObjectFolders {
		many = append(many, t.TempDir())
	}
	name(second, many...)
	sources.WantError(t, localAnswer(t, second.Dir, commit, "pools"), source.ErrTooLarge)
}

// looseObject writes an object that has a file of its own, whatever it says.
func looseObject(t *testing.T, r *sources.Repo, hash, header string, body io.Reader) {
	t.Helper()
	folder := filepath.Join(r.Dir, ".git/objects", hash[:2])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, hash[2:])
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := zlib.NewWriterLevel(file, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(zipped, io.MultiReader(strings.NewReader(header), body))
	if err := errors.Join(err, zipped.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

func TestLocalObjectsThatLie(t *testing.T) {
	const bomb = 128 << 20
	for name, c := range map[string]struct {
		reason string
		header string
		body   io.Reader
		want   error
	}{
		"more than it says":      {"it would fill the memory", "blob 1\x00", io.LimitReader(zeros{}, bomb), source.ErrUnreadable},
		"says too much":          {"nothing is made ready for it", "blob 3000000000\x00", strings.NewReader("a"), source.ErrTooLarge},
		"is too much":            {"a limit is one for what is true as well", fmt.Sprintf("blob %d\x00", bomb), io.LimitReader(zeros{}, bomb), source.ErrTooLarge},
		"less than it says":      {"it was cut off", "blob 100\x00", strings.NewReader("a"), source.ErrUnreadable},
		"a negative size":        {"no number of bytes", "blob -1\x00", strings.NewReader("a"), source.ErrUnreadable},
		"no end of the header":   {"it would fill the memory", "blob ", io.LimitReader(zeroDigits{}, bomb), source.ErrUnreadable},
		"another content":        {"the name of an object is its content", "blob 1\x00", strings.NewReader("b"), source.ErrUnreadable},
		"nothing at all":         {"it was cut off", "", strings.NewReader(""), source.ErrUnreadable},
		"a kind of its own":      {"git has four", "bomb 1\x00", strings.NewReader("b"), source.ErrUnreadable},
		"of another kind":        {"the tree says that it is a file", "tree 0\x00", strings.NewReader(""), source.ErrUnreadable},
		"a delta without a base": {"only packs have these", "ref-delta 1\x00", strings.NewReader("b"), source.ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			r.Commit(map[string]string{"pools/a.yaml": "a"})
			looseObject(t, r, r.Git("rev-parse", "HEAD:pools/a.yaml"), c.header, c.body)
			sources.WantError(t, withinMemory(t, func() error { return localAnswer(t, r.Dir, "main", "pools") }), c.want)
		})
	}
}

type zeroDigits struct{}

func (zeroDigits) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = '0'
	}
	return len(into), nil
}

// withinMemory runs f, which must not allocate what an object could claim to need. The
// bound leaves room for the race detector, under which pools of buffers forget.
func withinMemory(t *testing.T, f func() error) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 320<<20 {
		t.Errorf("it takes %d MiB of memory", allocated>>20)
	}
	return err
}

// A .git that is no folder and names no repository is not passed over for the
// repository around it.
func TestLocalGitFileThatNamesNoRepository(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a"})
	for _, text := range []string{"gitdir: .git", "gitdir: .", "gitdir: /nowhere", "gitdir: ", "", "x"} {
		if err := os.WriteFile(filepath.Join(r.Dir, "pools/.git"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(filepath.Join(r.Dir, "pools"))
		sources.WantError(t, err, source.ErrUnreadable)
	}
}

// Files of a repository may be committed like any other. What a change is reviewed by
// would be theirs.
func TestLocalRepositoryThatWasCommitted(t *testing.T) {
	r := sources.NewRepo(t)
	main := r.Commit(map[string]string{"pools/a.yaml": "a"})
	r.Commit(map[string]string{
		"pools/evil.yaml":               "b",
		"pools/sub/b.yaml":              "b",
		"pools/HEAD":                    main,
		"pools/packed-refs":             main + " refs/remotes/origin/main\n",
		"pools/config":                  "[core]\n\tworktree = ..\n",
		"pools/objects/info/alternates": "../../.git/objects\n",
	})
	for name, at := range map[string]string{
		"the folder with the pools": r.Clone(t).Dir,
		"a git worktree":            linked(t, r),
	} {
		for _, folder := range []string{"pools", "pools/sub", "pools/a.yaml"} {
			t.Run(name+", "+folder, func(t *testing.T) {
				path := filepath.Join(at, folder)
				_, err := Open(path)
				sources.WantError(t, err, source.ErrUnsupported)
				if want := filepath.Join(at, "pools"); !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %s", err, want)
				}
				_, err = Checkout(path)
				sources.WantError(t, err, source.ErrUnsupported)
			})
		}
		if _, err := Open(at); err != nil {
			t.Errorf("%s: the clone itself: %v", name, err)
		}
	}
}

// The folder in which git manages a working tree was not committed there.
func TestLocalRepositoryFromWithin(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a"})
	apart := r.Clone(t, "--separate-git-dir="+filepath.Join(t.TempDir(), "apart")).Dir
	beside := r.Clone(t).Dir
	if err := errors.Join(os.Rename(filepath.Join(beside, ".git"), filepath.Join(beside, ".bare")), os.WriteFile(filepath.Join(beside, ".git"), []byte("gitdir: ./.bare\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{filepath.Join(r.Dir, ".git"), filepath.Join(r.Dir, ".git/refs"), filepath.Join(beside, ".bare"), apart} {
		if _, err := open(t, folder).Resolve(t.Context(), "main"); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

func linked(t *testing.T, r *sources.Repo) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "linked")
	r.Git("worktree", "add", "--quiet", "--detach", at)
	return at
}
