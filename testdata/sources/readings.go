package sources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// Reading is a way in which a kind of source reads the folder pools of a repository,
// at its HEAD and within limits.
type Reading func(t *testing.T, r *Repo, limits poolfile.Limits) (*source.Snapshot, error)

// TestHarmlessFiles checks that what is no pool file, by its name, stops nothing and
// counts towards no limit, whatever it is: that of one pool file is the limit of these.
func TestHarmlessFiles(t *testing.T, readings map[string]Reading) {
	small := poolfile.DefaultLimits()
	small.Entries, small.FileBytes, small.TotalBytes, small.Depth = 3, 5, 6, 1
	large := strings.Repeat("logo", 3<<20)
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprintf("pools/%d.png", i)] = "png"
	}
	tracked := func(mode, name string) func(t *testing.T, r *Repo) {
		return func(_ *testing.T, r *Repo) {
			r.Git("update-index", "--add", "--cacheinfo", mode+","+r.Git("rev-parse", "HEAD")+","+name)
			r.Git("commit", "--quiet", "--message=c")
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		then  func(t *testing.T, r *Repo)
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
			then: func(t *testing.T, r *Repo) {
				r.Git("update-index", "--skip-worktree", "pools/.ci/a.yaml", "pools/.b.yaml")
				if err := errors.Join(os.RemoveAll(filepath.Join(r.Dir, "pools/.ci")), os.Remove(filepath.Join(r.Dir, "pools/.b.yaml"))); err != nil {
					t.Fatal(err)
				}
			},
		},
		"files that cannot be read": {
			files: map[string]string{"pools/logo.png": "png", "pools/.hidden/a.yaml": "a"},
			then: func(t *testing.T, r *Repo) {
				closed := []string{filepath.Join(r.Dir, "pools/logo.png"), filepath.Join(r.Dir, "pools/.hidden")}
				if err := errors.Join(os.Chmod(closed[0], 0), os.Chmod(closed[1], 0)); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(closed[1], 0o700) })
			},
		},
		"pipes": {then: func(t *testing.T, r *Repo) {
			Pipe(t, filepath.Join(r.Dir, "pools/pipe.png"))
			Pipe(t, filepath.Join(r.Dir, "pools/.a.yaml"))
		}},
		"a hidden repository within": {then: func(_ *testing.T, r *Repo) {
			r.Git("init", "--quiet", "pools/.cache/nested")
			r.Write("pools/.cache/nested/a.yaml", "a")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRepo(t)
			files := map[string]string{"pools/a.yaml": "a", "pools/sub/b.yml": "b"}
			for name, text := range c.files {
				files[name] = text
			}
			r.Commit(files)
			if c.then != nil {
				c.then(t, r)
			}
			for way, read := range readings {
				snapshot, err := read(t, r, small)
				if err != nil {
					t.Errorf("%s: %v", way, err)
					continue
				}
				if diff := cmp.Diff(map[string]string{"a.yaml": "a", "sub/b.yml": "b"}, Contents(t, snapshot.Files)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

// TestHiddenPools checks that what could stand for pools is refused, as to pass over it
// would read as deleting them.
func TestHiddenPools(t *testing.T, readings map[string]Reading) {
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
			r := NewRepo(t)
			files["pools/a.yaml"] = "a"
			r.Commit(files)
			for way, read := range readings {
				if _, err := read(t, r, poolfile.DefaultLimits()); !errors.Is(err, source.ErrFile) {
					t.Errorf("%s gives %v, want ErrFile", way, err)
				}
			}
		})
	}
}

// TestBoundedNames checks that links and names cost bounded time, however few objects
// stand for however many. Readings of commits find out where a link leads from the names
// in folders; those of folders ask the file system.
func TestBoundedNames(t *testing.T, commits, folders map[string]Reading) {
	small := poolfile.DefaultLimits()
	small.Names = 150
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
		// commits and folders say whether their readings refuse the files.
		commits, folders bool
	}{
		"many names":              {many, true, true},
		"a link through a folder": {through, true, false},
		"long links":              {links, false, false}, // ".." is taken out before
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRepo(t)
			r.Commit(c.files)
			check := func(readings map[string]Reading, refused bool) {
				for way, read := range readings {
					switch _, err := read(t, r, small); {
					case refused:
						WantError(t, err, source.ErrTooLarge)
					case err != nil:
						t.Errorf("%s: %v", way, err)
					}
				}
			}
			check(commits, c.commits)
			check(folders, c.folders)
		})
	}
}
