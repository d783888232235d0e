package local

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/git"
	"github.com/nodepools/nodepools/source/poolfile"
	"github.com/nodepools/nodepools/testdata/sources"
)

func open(t testing.TB, dir string) *Repository {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLocalSnapshotIsWhatAFetchGives(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", "pools/sub/b.yaml": "b", "pools/README.md": "-> ../README.md", "README.md": "r"})
	_, fetched, err := (&git.Repository{URL: r.URL(), Path: "pools"}).Latest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func() string{
		"loose objects":    func() string { return r.Dir },
		"packed objects":   func() string { r.Git("gc", "--quiet"); return r.Dir },
		"from a subfolder": func() string { return filepath.Join(r.Dir, "pools", "sub") },
		"a file":           func() string { return filepath.Join(r.Dir, "pools", "a.yaml") },
		"git worktree": func() string {
			r.Git("worktree", "add", "--quiet", "--detach", "../linked")
			return filepath.Join(r.Dir, "../linked")
		},
		"bare":              func() string { return r.Clone(t, "--bare").Dir },
		"borrowed objects":  func() string { return r.Clone(t, "--shared").Dir },
		"worktree settings": func() string { r.Git("config", "extensions.worktreeConfig", "true"); return r.Dir },
		"shallow":           func() string { return r.Clone(t, "--depth=1").Dir },
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, prepare())
			revision, err := l.Resolve(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			if revision != fetched.Revision {
				t.Errorf("revision %s, want %s", revision, fetched.Revision)
			}
			snapshot, err := l.Snapshot(t.Context(), revision, "pools")
			if err != nil {
				t.Fatal(err)
			}
			if snapshot.TreeHash != fetched.TreeHash || snapshot.Revision != fetched.Revision {
				t.Errorf("%s %s, want %s %s", snapshot.Revision, snapshot.TreeHash, fetched.Revision, fetched.TreeHash)
			}
			sources.WantFiles(t, snapshot, sources.Contents(t, fetched.Files))
		})
	}
}

func TestLocalRefuses(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a", "linked/b.yaml": "-> ../a.yaml", "link": "-> linked", "file": "x", "empty": "", "big/a.yaml": sources.Noise(2000)})
	sha256 := sources.NewRepo(t, "--object-format=sha256")
	sha256.Commit(map[string]string{"a.yaml": "a"})
	r.Git("config", "uploadpack.allowFilter", "true")
	partial := r.Clone(t, "--filter=blob:none", "--no-checkout")
	odd := sources.NewRepo(t)
	odd.Git("config", "core.repositoryFormatVersion", "1")
	odd.Git("config", "extensions.fancy", "yes")
	cut := sources.NewRepo(t)
	cut.Commit(map[string]string{"a.yaml": "a"})
	root := cut.Git("rev-parse", "HEAD^{tree}")
	object := filepath.Join(cut.Dir, ".git", "objects", root[:2], root[2:])
	if err := errors.Join(os.Chmod(object, 0o644), os.Truncate(object, 3)); err != nil {
		t.Fatal(err)
	}
	small := poolfile.DefaultLimits()
	small.FileBytes = 1000
	for name, c := range map[string]struct {
		reason string
		dir    string
		folder string
		limits *poolfile.Limits
		want   error
		names  string
	}{
		"no repository":   {"nothing around it is one", t.TempDir(), ".", nil, source.ErrRepositoryMissing, "is not in a Git repository"},
		"sha256":          {"hashes of another length", sha256.Dir, ".", nil, source.ErrUnsupported, "SHA-256"},
		"extension":       {"git refuses what it does not know, too", odd.Dir, ".", nil, source.ErrUnsupported, "fancy"},
		"missing folder":  {"the controller says so, too", r.Dir, "nowhere/at/all", nil, source.ErrPathMissing, `main: there is no folder "nowhere"`},
		"link":            {"never followed", r.Dir, "linked", nil, source.ErrFile, "b.yaml"},
		"linked folder":   {"never followed", r.Dir, "link", nil, source.ErrPathNotFolder, "symbolic link"},
		"file":            {"a folder is needed", r.Dir, "file", nil, source.ErrPathNotFolder, "is a file"},
		"out of it":       {"a path is in the repository", r.Dir, "../x", nil, source.ErrInvalid, "leads out"},
		"large":           {"limits are those of a fetch", r.Dir, "big", &small, source.ErrTooLarge, "a.yaml"},
		"files not there": {"a partial clone has them elsewhere", partial.Dir, "big", nil, source.ErrIncomplete, "a.yaml"},
		"broken":          {"a tree that was cut off", cut.Dir, ".", nil, source.ErrUnreadable, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Open(c.dir)
			if err == nil {
				if c.limits != nil {
					l.limits = *c.limits
				}
				var revision string
				if revision, err = l.Resolve(t.Context(), "main"); err == nil {
					_, err = l.Snapshot(t.Context(), revision, c.folder)
				}
			}
			sources.WantError(t, err, c.want)
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %v does not name %s", c.reason, err, c.names)
			}
		})
	}
}

func TestLocalWorkTree(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", ".gitignore": "ignored.yaml", "link": "-> pools", "file": "x"})
	for name, content := range map[string]string{"pools/a.yaml": "changed", "pools/new.yaml": "new", "pools/ignored.yaml": "ignored"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, r.Dir)
	snapshot, err := l.WorkTree(t.Context(), "pools")
	if err != nil {
		t.Fatal(err)
	}
	sources.WantFiles(t, snapshot, map[string]string{"a.yaml": "changed", "new.yaml": "new", "ignored.yaml": "ignored"})
	r.Git("init", "--quiet", "within/nested")
	if err := os.WriteFile(filepath.Join(r.Dir, "within/a.yaml"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reason, folder string
		want           error
	}{
		"missing":          {"as in a commit", "nowhere", source.ErrPathMissing},
		"link":             {"a commit has no folder there", "link", source.ErrPathNotFolder},
		"file":             {"nor there", "file", source.ErrPathNotFolder},
		"nested":           {"a commit has none of its files", "within/nested", source.ErrPathNotFolder},
		"nested below":     {"left out, they would read as deleted", "within", source.ErrFile},
		"below a link":     {"a commit has no folder there", "link/sub", source.ErrPathNotFolder},
		"out of it":        {"a path is in the repository", "..", source.ErrInvalid},
		"an absolute path": {"from the root of the repository", r.Dir, source.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.WorkTree(t.Context(), c.folder)
			sources.WantError(t, err, c.want)
		})
	}
	_, err = open(t, r.Clone(t, "--bare").Dir).WorkTree(t.Context(), "pools")
	sources.WantError(t, err, source.ErrUnsupported)
}

func TestLocalFolder(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"clusters/prod/a.yaml": "a"})
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(r.Dir, alias); err != nil {
		t.Fatal(err)
	}
	l := open(t, alias)
	for path, want := range map[string]string{
		r.Dir:                                    ".",
		filepath.Join(r.Dir, "clusters/prod"):    "clusters/prod",
		filepath.Join(alias, "clusters/prod/"):   "clusters/prod",
		filepath.Join(alias, "not/there/yet"):    "not/there/yet",
		filepath.Join(r.Dir, "clusters/../x/.."): ".",
	} {
		if got, err := l.Folder(path); err != nil || got != want {
			t.Errorf("Folder(%s) is %q, %v; want %q", path, got, err, want)
		}
	}
	_, err := l.Folder(filepath.Dir(r.Dir))
	sources.WantError(t, err, source.ErrInvalid)
}

func TestLocalIsCanceled(t *testing.T) {
	r := sources.NewRepo(t)
	commit := r.Commit(map[string]string{"a.yaml": "a"})
	l := open(t, r.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Resolve(ctx, "main")
	sources.WantError(t, err, source.ErrCanceled)
	_, err = l.Snapshot(ctx, "sha1:"+commit, ".")
	sources.WantError(t, err, source.ErrCanceled)
	_, err = l.MergeBase(ctx, "sha1:"+commit, "sha1:"+strings.Repeat("1", 40))
	sources.WantError(t, err, source.ErrCanceled)
}

// A sparse checkout lacks files that are not deleted.
func TestLocalSparseCheckout(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", "pools/sub/b.yaml": "b", "other/c.yaml": "c"})
	r.Git("sparse-checkout", "set", "--no-cone", "/pools/a.yaml", "/other/")
	l := open(t, r.Dir)
	if _, err := l.WorkTree(t.Context(), "pools"); !errors.Is(err, source.ErrIncomplete) {
		t.Errorf("the folder whose files are left out gives %v, want source.ErrIncomplete", err)
	}
	if snapshot, err := l.WorkTree(t.Context(), "other"); err != nil {
		t.Errorf("the folder that is whole: %v", err)
	} else {
		sources.WantFiles(t, snapshot, map[string]string{"c.yaml": "c"})
	}
	r.Git("sparse-checkout", "disable")
	if _, err := open(t, r.Dir).WorkTree(t.Context(), "pools"); err != nil {
		t.Errorf("with nothing left out: %v", err)
	}
}

// A tag that leads back to itself cannot have the hash that it is found by.
func TestLocalTagOfItself(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	hash := strings.Repeat("ab", 20)
	var object bytes.Buffer
	body := "object " + hash + "\ntype tag\ntag x\ntagger x <x@example.com> 1 +0000\n\nx\n"
	zipped := zlib.NewWriter(&object)
	if _, err := fmt.Fprintf(zipped, "tag %d\x00%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(r.Dir, ".git", "objects", hash[:2])
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, hash[2:]), object.Bytes(), 0o600),
		os.WriteFile(filepath.Join(r.Dir, ".git", "refs", "tags", "x"), []byte(hash+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, r.Dir).Resolve(t.Context(), "x"); !errors.Is(err, source.ErrUnreadable) {
		t.Errorf("it gives %v, want source.ErrUnreadable", err)
	}
}
