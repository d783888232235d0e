package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readings are all the ways in which the folder pools of a clone is read, with limits;
// nil for those of the package.
func readings(r *repo, l *limits) map[string]func(t *testing.T) (*Snapshot, error) {
	if l == nil {
		all := defaultLimits()
		l = &all
	}
	local := func(t *testing.T) *Local {
		opened := openLocal(t, r.dir)
		opened.limits = *l
		return opened
	}
	return map[string]func(t *testing.T) (*Snapshot, error){
		"fetch": func(t *testing.T) (*Snapshot, error) {
			return both(t.Context(), &Git{URL: r.fileURL(), Path: "pools", limits: l})
		},
		"revision": func(t *testing.T) (*Snapshot, error) {
			return local(t).Snapshot(t.Context(), "sha1:"+r.git("rev-parse", "HEAD"), "pools")
		},
		"working tree": func(t *testing.T) (*Snapshot, error) { return local(t).WorkTree(t.Context(), "pools") },
		"checkout":     func(*testing.T) (*Snapshot, error) { return Checkout(filepath.Join(r.dir, "pools")) },
		"folder":       func(*testing.T) (*Snapshot, error) { return directory(filepath.Join(r.dir, "pools"), *l) },
	}
}

// What is no pool file, by its name, stops nothing and counts towards no limit, whatever
// it is: that of one pool file is the limit of these.
func TestWhatIsNoPoolFileIsNotLookedAt(t *testing.T) {
	small := defaultLimits()
	small.entries, small.fileBytes, small.totalBytes, small.depth = 3, 5, 6, 1
	large := strings.Repeat("logo", 3<<20)
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprintf("pools/%d.png", i)] = "png"
	}
	tracked := func(mode, name string) func(t *testing.T, r *repo) {
		return func(_ *testing.T, r *repo) {
			r.git("update-index", "--add", "--cacheinfo", mode+","+r.git("rev-parse", "HEAD")+","+name)
			r.git("commit", "--quiet", "--message=c")
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		then  func(t *testing.T, r *repo)
	}{
		"a large file":               {files: map[string]string{"pools/logo.png": large}},
		"a large file in the folder": {files: map[string]string{"pools/sub/logo.png": large}},
		"many files":                 {files: many},
		"a hidden large file":        {files: map[string]string{"pools/.hidden/logo.png": large}},
		"hidden pool files":          {files: map[string]string{"pools/.a.yaml": large, "pools/.hidden/a.yaml": large, "pools/.hidden/A.yaml": large}},
		"hidden folders":             {files: map[string]string{"pools/.a/b/c/d/e.yaml": "e", "pools/sub/.a/b/c/d/e.yaml": "e"}},
		"a hidden link":              {files: map[string]string{"pools/.link": "-> ..", "pools/.a.yaml": "-> a.yaml"}},
		"a link to nothing":          {files: map[string]string{"pools/LINK.md": "-> nothing.md"}},
		"a link out":                 {files: map[string]string{"pools/LINK.md": "-> ../../../etc/hostname"}},
		"an absolute link":           {files: map[string]string{"pools/LINK.md": "-> /etc/hostname"}},
		"a link to itself":           {files: map[string]string{"pools/LINK.md": "-> LINK.md"}},
		"a link to a pool file":      {files: map[string]string{"pools/LINK.md": "-> a.yaml"}},
		"a link to a file":           {files: map[string]string{"pools/LICENSE": "-> ../LICENSE", "LICENSE": "free"}},
		"a link over another":        {files: map[string]string{"pools/LICENSE": "-> ../docs/LICENSE", "docs": "-> texts", "texts/LICENSE": "-> ../LICENSE", "LICENSE": "free"}},
		"an odd name":                {files: map[string]string{"pools/a\n\u202e.png": "png"}},
		"a name of no text":          {files: map[string]string{"pools/\xff\xfe.png": "png"}},
		"an ending that is like one": {files: map[string]string{"pools/a.yaml.bak": large, "pools/b.yaml~": large, "pools/c.yamlx": large, "pools/yaml": large}},
		"a pointer of LFS":           {files: map[string]string{"pools/model.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"}},
		"a hidden submodule":         {then: tracked("160000", "pools/.theme")},
		"hidden, and left out": {
			files: map[string]string{"pools/.ci/a.yaml": "a", "pools/.b.yaml": "b"},
			then: func(t *testing.T, r *repo) {
				r.git("update-index", "--skip-worktree", "pools/.ci/a.yaml", "pools/.b.yaml")
				if err := errors.Join(os.RemoveAll(filepath.Join(r.dir, "pools/.ci")), os.Remove(filepath.Join(r.dir, "pools/.b.yaml"))); err != nil {
					t.Fatal(err)
				}
			},
		},
		"files that cannot be read": {
			files: map[string]string{"pools/logo.png": "png", "pools/.hidden/a.yaml": "a"},
			then: func(t *testing.T, r *repo) {
				closed := []string{filepath.Join(r.dir, "pools/logo.png"), filepath.Join(r.dir, "pools/.hidden")}
				if err := errors.Join(os.Chmod(closed[0], 0), os.Chmod(closed[1], 0)); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(closed[1], 0o700) })
			},
		},
		"pipes": {then: func(t *testing.T, r *repo) {
			pipe(t, filepath.Join(r.dir, "pools/pipe.png"))
			pipe(t, filepath.Join(r.dir, "pools/.a.yaml"))
		}},
		"a hidden repository within": {then: func(_ *testing.T, r *repo) {
			r.git("init", "--quiet", "pools/.cache/nested")
			r.write("pools/.cache/nested/a.yaml", "a")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			files := map[string]string{"pools/a.yaml": "a", "pools/sub/b.yml": "b"}
			for name, text := range c.files {
				files[name] = text
			}
			r.commit(files)
			if c.then != nil {
				c.then(t, r)
			}
			for way, read := range readings(r, &small) {
				snapshot, err := read(t)
				if err != nil {
					t.Errorf("%s: %v", way, err)
					continue
				}
				if diff := cmp.Diff(map[string]string{"a.yaml": "a", "sub/b.yml": "b"}, contents(t, snapshot.Files)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

// What could stand for pools is refused, as to pass over it would read as deleting them.
func TestWhatCouldHidePoolsIsRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a link that is called a pool file": {"pools/b.YML": "-> nothing.md"},
		"a link to a folder":                {"pools/prod": "-> ../prod", "prod/b.yaml": "b"},
		"a link to a folder with a dot":     {"pools/team.a": "-> ../prod", "prod/b.yaml": "b"},
		"a link over another":               {"pools/team.a": "-> ../current", "current": "-> prod", "prod/b.yaml": "b"},
		"a link to nothing":                 {"pools/prod": "-> ../prod"},
		"a link out":                        {"pools/prod": "-> ../../prod"},
		"a pool file with an odd name":      {"pools/b\n.yaml": "b"},
		"a folder with an odd name":         {"pools/b\u202e/b.yaml": "b"},
		"a folder that is called a file":    {"pools/b.png": "-> ../b.yaml", "b.yaml/b.yaml": "b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			files["pools/a.yaml"] = "a"
			r.commit(files)
			for way, read := range readings(r, nil) {
				if _, err := read(t); !errors.Is(err, ErrFile) {
					t.Errorf("%s gives %v, want ErrFile", way, err)
				}
			}
		})
	}
}

// Links and names cost bounded time, however few objects stand for however many.
func TestNamesAreBounded(t *testing.T) {
	small := defaultLimits()
	small.names = 150
	many := map[string]string{"pools/a.yaml": "a"}
	for i := range 150 {
		many[fmt.Sprintf("pools/%d.png", i)] = "png"
	}
	links := map[string]string{"pools/a.yaml": "a"}
	for i := range 20 {
		links[fmt.Sprintf("pools/%d.md", i)] = "-> " + strings.Repeat("../pools/", 20) + "a.yaml"
	}
	through := map[string]string{"pools/a.yaml": "a", "pools/b.md": "-> ../other/x.md"}
	for i := range 150 {
		through[fmt.Sprintf("other/%d.md", i)] = "md"
	}
	for name, c := range map[string]struct {
		files map[string]string
		ways  []string
	}{
		"many names":              {many, []string{"fetch", "revision", "working tree", "folder"}},
		"a link through a folder": {through, []string{"fetch", "revision"}},
		"long links":              {links, nil}, // ".." is taken out before
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.commit(c.files)
			ways := readings(r, &small)
			for _, way := range c.ways {
				_, err := ways[way](t)
				wantError(t, err, ErrTooLarge)
				delete(ways, way)
			}
			for way, read := range ways {
				if _, err := read(t); err != nil {
					t.Errorf("%s: %v", way, err)
				}
			}
		})
	}
}

// A clone without the contents of files reads what it has.
func TestPartialCloneOfOtherFiles(t *testing.T) {
	r := newRepo(t)
	r.git("config", "uploadpack.allowFilter", "true")
	commit := r.commit(map[string]string{"pools/a.yaml": "a", "pools/logo.png": noise(5000), "pools/LINK.md": "-> logo.png", "pools/.hidden/b.yaml": noise(5000)})
	clone := cloneOf(t, r, "--filter=blob:limit=1k", "--no-checkout")
	snapshot, err := openLocal(t, clone.dir).Snapshot(t.Context(), "sha1:"+commit, "pools")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, snapshot, map[string]string{"a.yaml": "a"})
}

// Where a link leads is in its blob. A clone without that cannot tell.
func TestPartialCloneOfALink(t *testing.T) {
	r := newRepo(t)
	r.git("config", "uploadpack.allowFilter", "true")
	commit := r.commit(map[string]string{"pools/README": "-> ../README.md", "README.md": "read"})
	clone := cloneOf(t, r, "--filter=blob:none", "--no-checkout")
	_, err := openLocal(t, clone.dir).Snapshot(t.Context(), "sha1:"+commit, "pools")
	wantError(t, err, ErrIncomplete)
}
