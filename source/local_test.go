package source

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func openLocal(t testing.TB, dir string) *Local {
	t.Helper()
	l, err := OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// cloneOf makes another clone of a repository.
func cloneOf(t testing.TB, r *repo, args ...string) *repo {
	t.Helper()
	c := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	cmd := exec.Command("git", append(append([]string{"clone", "--quiet"}, args...), r.fileURL(), c.dir)...)
	cmd.Env = gitEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	return c
}

func TestLocalSnapshotIsWhatAFetchGives(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"pools/a.yaml": "a", "pools/sub/b.yaml": "b", "pools/README.md": "-> ../README.md", "README.md": "r"})
	fetched, err := both(t.Context(), &Git{URL: r.fileURL(), Path: "pools"})
	if err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func() string{
		"loose objects":    func() string { return r.dir },
		"packed objects":   func() string { r.git("gc", "--quiet"); return r.dir },
		"from a subfolder": func() string { return filepath.Join(r.dir, "pools", "sub") },
		"a file":           func() string { return filepath.Join(r.dir, "pools", "a.yaml") },
		"git worktree": func() string {
			r.git("worktree", "add", "--quiet", "--detach", "../linked")
			return filepath.Join(r.dir, "../linked")
		},
		"bare":              func() string { return cloneOf(t, r, "--bare").dir },
		"borrowed objects":  func() string { return cloneOf(t, r, "--shared").dir },
		"worktree settings": func() string { r.git("config", "extensions.worktreeConfig", "true"); return r.dir },
		"shallow":           func() string { return cloneOf(t, r, "--depth=1").dir },
	} {
		t.Run(name, func(t *testing.T) {
			l := openLocal(t, prepare())
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
			wantFiles(t, snapshot, contents(t, fetched.Files))
		})
	}
}

func TestLocalRefuses(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a", "linked/b.yaml": "-> ../a.yaml", "link": "-> linked", "file": "x", "empty": "", "big/a.yaml": noise(2000)})
	sha256 := newRepo(t, "--object-format=sha256")
	sha256.commit(map[string]string{"a.yaml": "a"})
	r.git("config", "uploadpack.allowFilter", "true")
	partial := cloneOf(t, r, "--filter=blob:none", "--no-checkout")
	odd := newRepo(t)
	odd.git("config", "core.repositoryFormatVersion", "1")
	odd.git("config", "extensions.fancy", "yes")
	cut := newRepo(t)
	cut.commit(map[string]string{"a.yaml": "a"})
	root := cut.git("rev-parse", "HEAD^{tree}")
	object := filepath.Join(cut.dir, ".git", "objects", root[:2], root[2:])
	if err := errors.Join(os.Chmod(object, 0o644), os.Truncate(object, 3)); err != nil {
		t.Fatal(err)
	}
	small := defaultLimits()
	small.fileBytes = 1000
	for name, c := range map[string]struct {
		reason string
		dir    string
		folder string
		limits *limits
		want   error
		names  string
	}{
		"no repository":   {"nothing around it is one", t.TempDir(), ".", nil, ErrRepositoryMissing, "is not in a Git repository"},
		"sha256":          {"hashes of another length", sha256.dir, ".", nil, ErrUnsupported, "SHA-256"},
		"extension":       {"git refuses what it does not know, too", odd.dir, ".", nil, ErrUnsupported, "fancy"},
		"missing folder":  {"the controller says so, too", r.dir, "nowhere/at/all", nil, ErrPathMissing, `main: there is no folder "nowhere"`},
		"link":            {"never followed", r.dir, "linked", nil, ErrFile, "b.yaml"},
		"linked folder":   {"never followed", r.dir, "link", nil, ErrPathNotFolder, "symbolic link"},
		"file":            {"a folder is needed", r.dir, "file", nil, ErrPathNotFolder, "is a file"},
		"out of it":       {"a path is in the repository", r.dir, "../x", nil, ErrInvalid, "leads out"},
		"large":           {"limits are those of a fetch", r.dir, "big", &small, ErrTooLarge, "a.yaml"},
		"files not there": {"a partial clone has them elsewhere", partial.dir, "big", nil, ErrIncomplete, "a.yaml"},
		"broken":          {"a tree that was cut off", cut.dir, ".", nil, ErrUnreadable, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := OpenLocal(c.dir)
			if err == nil {
				if c.limits != nil {
					l.limits = *c.limits
				}
				var revision string
				if revision, err = l.Resolve(t.Context(), "main"); err == nil {
					_, err = l.Snapshot(t.Context(), revision, c.folder)
				}
			}
			wantError(t, err, c.want)
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %v does not name %s", c.reason, err, c.names)
			}
		})
	}
}

func TestLocalWorkTree(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"pools/a.yaml": "a", ".gitignore": "ignored.yaml", "link": "-> pools", "file": "x"})
	for name, content := range map[string]string{"pools/a.yaml": "changed", "pools/new.yaml": "new", "pools/ignored.yaml": "ignored"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := openLocal(t, r.dir)
	snapshot, err := l.WorkTree(t.Context(), "pools")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, snapshot, map[string]string{"a.yaml": "changed", "new.yaml": "new", "ignored.yaml": "ignored"})
	r.git("init", "--quiet", "within/nested")
	if err := os.WriteFile(filepath.Join(r.dir, "within/a.yaml"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reason, folder string
		want           error
	}{
		"missing":          {"as in a commit", "nowhere", ErrPathMissing},
		"link":             {"a commit has no folder there", "link", ErrPathNotFolder},
		"file":             {"nor there", "file", ErrPathNotFolder},
		"nested":           {"a commit has none of its files", "within/nested", ErrPathNotFolder},
		"nested below":     {"left out, they would read as deleted", "within", ErrFile},
		"below a link":     {"a commit has no folder there", "link/sub", ErrPathNotFolder},
		"out of it":        {"a path is in the repository", "..", ErrInvalid},
		"an absolute path": {"from the root of the repository", r.dir, ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.WorkTree(t.Context(), c.folder)
			wantError(t, err, c.want)
		})
	}
	_, err = openLocal(t, cloneOf(t, r, "--bare").dir).WorkTree(t.Context(), "pools")
	wantError(t, err, ErrUnsupported)
}

func TestLocalFolder(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"clusters/prod/a.yaml": "a"})
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(r.dir, alias); err != nil {
		t.Fatal(err)
	}
	l := openLocal(t, alias)
	for path, want := range map[string]string{
		r.dir:                                    ".",
		filepath.Join(r.dir, "clusters/prod"):    "clusters/prod",
		filepath.Join(alias, "clusters/prod/"):   "clusters/prod",
		filepath.Join(alias, "not/there/yet"):    "not/there/yet",
		filepath.Join(r.dir, "clusters/../x/.."): ".",
	} {
		if got, err := l.Folder(path); err != nil || got != want {
			t.Errorf("Folder(%s) is %q, %v; want %q", path, got, err, want)
		}
	}
	_, err := l.Folder(filepath.Dir(r.dir))
	wantError(t, err, ErrInvalid)
}

func TestLocalIsCanceled(t *testing.T) {
	r := newRepo(t)
	commit := r.commit(map[string]string{"a.yaml": "a"})
	l := openLocal(t, r.dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Resolve(ctx, "main")
	wantError(t, err, ErrCanceled)
	_, err = l.Snapshot(ctx, "sha1:"+commit, ".")
	wantError(t, err, ErrCanceled)
	_, err = l.MergeBase(ctx, "sha1:"+commit, "sha1:"+strings.Repeat("1", 40))
	wantError(t, err, ErrCanceled)
}

// allowed runs git, which may say no.
func (r *repo) allowed(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, gitEnv()
	out, _ := cmd.Output()
	return string(out)
}

// A sparse checkout lacks files that are not deleted.
func TestLocalSparseCheckout(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"pools/a.yaml": "a", "pools/sub/b.yaml": "b", "other/c.yaml": "c"})
	r.git("sparse-checkout", "set", "--no-cone", "/pools/a.yaml", "/other/")
	l := openLocal(t, r.dir)
	if _, err := l.WorkTree(t.Context(), "pools"); !errors.Is(err, ErrIncomplete) {
		t.Errorf("the folder whose files are left out gives %v, want ErrIncomplete", err)
	}
	if snapshot, err := l.WorkTree(t.Context(), "other"); err != nil {
		t.Errorf("the folder that is whole: %v", err)
	} else {
		wantFiles(t, snapshot, map[string]string{"c.yaml": "c"})
	}
	r.git("sparse-checkout", "disable")
	if _, err := openLocal(t, r.dir).WorkTree(t.Context(), "pools"); err != nil {
		t.Errorf("with nothing left out: %v", err)
	}
}

// A tag that leads back to itself cannot have the hash that it is found by.
func TestLocalTagOfItself(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a"})
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
	folder := filepath.Join(r.dir, ".git", "objects", hash[:2])
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, hash[2:]), object.Bytes(), 0o600),
		os.WriteFile(filepath.Join(r.dir, ".git", "refs", "tags", "x"), []byte(hash+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := openLocal(t, r.dir).Resolve(t.Context(), "x"); !errors.Is(err, ErrUnreadable) {
		t.Errorf("it gives %v, want ErrUnreadable", err)
	}
}
