package object_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
	"github.com/nodepools/nodepools/source/poolfile"
	"github.com/nodepools/nodepools/testdata/sources"
)

// catFile is a store of what git cat-file prints. It asks for each object once: few
// objects can stand for many files.
type catFile struct {
	*sources.Repo
	sizes    map[plumbing.Hash]int64
	contents map[plumbing.Hash][]byte
}

func (c *catFile) Size(hash plumbing.Hash) (int64, bool) {
	if size, known := c.sizes[hash]; known {
		return size, true
	}
	size, err := strconv.ParseInt(c.Git("cat-file", "-s", hash.String()), 10, 64)
	c.sizes[hash] = size
	return size, err == nil
}

func (c *catFile) Read(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	if data, known := c.contents[hash]; known {
		return data, nil
	}
	cmd := exec.Command("git", "cat-file", kind.String(), hash.String())
	cmd.Dir, cmd.Env = c.Dir, sources.Env()
	data, err := cmd.Output()
	c.contents[hash] = data
	return data, err
}

func (c *catFile) Missing(name string) error { return fmt.Errorf("there is no %s", name) }

// read reads a folder of a revision within limits.
func read(t *testing.T, r *sources.Repo, revision, folder string, limits poolfile.Limits) (*source.Snapshot, error) {
	t.Helper()
	store := &catFile{Repo: r, sizes: map[plumbing.Hash]int64{}, contents: map[plumbing.Hash][]byte{}}
	commit := object.Revision{Hash: plumbing.NewHash(r.Git("rev-parse", revision))}
	return object.Snapshot(store, poolfile.NewCollector(revision, limits), commit, folder)
}

func TestTreeRefuses(t *testing.T) {
	small := poolfile.DefaultLimits()
	small.Entries, small.FileBytes, small.TotalBytes, small.Depth = 4, 10, 15, 2
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   error
		names  string
	}{
		"link to YAML":      {"left out, it would read as deleted", map[string]string{"pools/a.yaml": "-> b.txt", "pools/b.txt": "b"}, source.ErrFile, "a.yaml"},
		"folder link":       {"pools may be behind it", map[string]string{"pools/sub": "-> ../other", "other/a.yaml": "a"}, source.ErrFile, "sub"},
		"folder links":      {"one over another, and a folder with a dot", map[string]string{"pools/team.a": "-> ../b", "b": "-> c/d", "c": "-> e", "e/d/a.yaml": "a"}, source.ErrFile, "team.a"},
		"link to the root":  {"a folder as well", map[string]string{"pools/x.d": "-> .."}, source.ErrFile, "x.d"},
		"link out":          {"a folder may be there", map[string]string{"pools/x": "-> ../../../etc"}, source.ErrFile, "x"},
		"absolute link":     {"and there", map[string]string{"pools/x": "-> /etc"}, source.ErrFile, "x"},
		"loop":              {"and nobody knows what was meant", map[string]string{"pools/x": "-> y", "pools/y": "-> x"}, source.ErrFile, "x"},
		"through a file":    {"nor here", map[string]string{"pools/x": "-> a.yaml/b", "pools/a.yaml": "a"}, source.ErrFile, "x"},
		"dangling":          {"pools may have been behind it", map[string]string{"pools/x": "-> nowhere"}, source.ErrFile, "x"},
		"large":             {"one file", map[string]string{"pools/a.yaml": strings.Repeat("a", 11)}, source.ErrTooLarge, "a.yaml"},
		"large together":    {"all files", map[string]string{"pools/a.yaml": strings.Repeat("a", 8), "pools/b.yaml": strings.Repeat("b", 8)}, source.ErrTooLarge, "b.yaml"},
		"many":              {"pool files and folders", map[string]string{"pools/a.yaml": "a", "pools/b.yml": "b", "pools/c/c.txt": "c", "pools/d/d.txt": "d", "pools/e.yaml": "e"}, source.ErrTooLarge, "e"},
		"deep":              {"folders in folders", map[string]string{"pools/a/b/c/d": "d"}, source.ErrTooLarge, "a/b/c"},
		"control character": {"could forge a line in a log", map[string]string{"pools/a\n.yaml": "a"}, source.ErrFile, `a\n.yaml`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := sources.NewRepo(t)
			r.Commit(c.files)
			_, err := read(t, r, "HEAD", "pools", small)
			sources.WantError(t, err, c.want)
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %v does not name %s", c.reason, err, c.names)
			}
		})
	}
}

func TestTreeLeavesHarmlessLinksOut(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", "pools/README.md": "-> ../README.md", "README.md": "r", "pools/LICENSE": "-> ./b/c.txt", "pools/b/c.txt": "c", "pools/COPY": "-> LICENSE"})
	snapshot, err := read(t, r, "HEAD", "pools", poolfile.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	sources.WantFiles(t, snapshot, map[string]string{"a.yaml": "a"})
}

func TestTreeSubmodule(t *testing.T) {
	r := sources.NewRepo(t)
	commit := r.Commit(map[string]string{"pools/a.yaml": "a"})
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+",pools/sub")
	r.Git("commit", "--quiet", "--message=c")
	_, err := read(t, r, "HEAD", "pools", poolfile.DefaultLimits())
	sources.WantError(t, err, source.ErrFile)
	_, err = read(t, r, "HEAD", "pools/sub", poolfile.DefaultLimits())
	sources.WantError(t, err, source.ErrPathNotFolder)
}

func TestTreeEmpty(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(nil)
	_, err := read(t, r, "HEAD", ".", poolfile.DefaultLimits())
	sources.WantError(t, err, source.ErrPathEmpty)
}

// Trees that the git program makes on request but never by itself.
func TestTreeCrafted(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	blob := r.Git("rev-parse", "HEAD:a.yaml")
	tree := func(lines ...string) string { return r.Feed(strings.Join(lines, "\n")+"\n", "mktree", "--missing") }
	nested := tree("100644 blob " + blob + "\ta.yaml")
	for range 30 { // 2^30 files in 30 trees
		nested = tree("040000 tree "+nested+"\tx", "040000 tree "+nested+"\ty")
	}
	cases := map[string]struct {
		reason string
		tree   string
		want   error
	}{
		"dot dot":   {"no way out", tree("100644 blob " + blob + "\t.."), source.ErrFile},
		"same name": {"one of them would be lost", tree("100644 blob "+blob+"\ta.yaml", "100644 blob "+blob+"\ta.yaml"), source.ErrFile},
		"bomb":      {"few objects, many files", nested, source.ErrTooLarge},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			commit := r.Git("commit-tree", "-m", "c", c.tree)
			r.Git("update-ref", "refs/heads/crafted", commit)
			_, err := read(t, r, "crafted", ".", poolfile.DefaultLimits())
			sources.WantError(t, err, c.want)
		})
	}
}
