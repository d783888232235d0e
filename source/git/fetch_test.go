package git

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// everywhere runs a test over each transport.
func everywhere(t *testing.T, r *sources.Repo, test func(t *testing.T, g Repository)) {
	t.Run("file", func(t *testing.T) { test(t, Repository{URL: r.URL()}) })
	t.Run("http", func(t *testing.T) { test(t, Repository{URL: serveHTTP(t, r, false, nil).repoURL()}) })
	t.Run("https", func(t *testing.T) {
		w := serveHTTP(t, r, true, nil)
		test(t, Repository{URL: w.repoURL(), CABundle: w.ca()})
	})
	t.Run("ssh", func(t *testing.T) {
		s := serveSSH(t)
		test(t, Repository{URL: s.repoURL(r), SSHAuth: s.auth()})
	})
	t.Run("old http", func(t *testing.T) { test(t, Repository{URL: serveHTTP(t, r, false, old).repoURL()}) })
	t.Run("old ssh", func(t *testing.T) {
		s := serveSSH(t)
		s.old = true
		test(t, Repository{URL: s.repoURL(r), SSHAuth: s.auth()})
	})
}

func TestFetch(t *testing.T) {
	r, old, latest := tagged(t)
	cases := map[string]struct {
		reason  string
		ref     Ref
		content string
	}{
		"default":       {"the default branch", Ref{}, "latest"},
		"branch":        {"a branch", Ref{Branch: "feature/x@y"}, "old"},
		"tag":           {"a light tag", Ref{Tag: "v1.2.0"}, "old"},
		"annotated tag": {"the commit behind an annotated tag", Ref{Tag: "v1.9.0"}, "latest"},
		"semver":        {"the highest version", Ref{Semver: "~1"}, "latest"},
		"commit":        {"a commit at a tip", Ref{Commit: latest}, "latest"},
		"older commit":  {"a commit at the tip of another branch", Ref{Commit: old}, "old"},
	}
	everywhere(t, r, func(t *testing.T, g Repository) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				g := g
				g.Ref, g.Path = c.ref, "pools"
				sources.WantFiles(t, fetch(t, &g, head(t, &g)), map[string]string{"a.yaml": c.content})
			})
		}
	})
}

// An annotated tag on a commit that no branch is at: the commit is not among the
// hashes that a server hands out, the tag is.
func TestFetchAnnotatedTagAlone(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "1"})
	r.Git("tag", "--annotate", "--message=m", "v1.0.0")
	r.Commit(map[string]string{"a.yaml": "2"})
	everywhere(t, r, func(t *testing.T, g Repository) {
		g.Ref.Tag = "v1.0.0"
		sources.WantFiles(t, fetch(t, &g, head(t, &g)), map[string]string{"a.yaml": "1"})
	})
}

// A commit in the middle of the history: some servers give it, from the others
// the whole history is fetched.
func TestFetchCommitBehindTheTip(t *testing.T) {
	r := sources.NewRepo(t)
	var commits []string
	for i := range 4 {
		commits = append(commits, r.Commit(map[string]string{"a.yaml": fmt.Sprint(i), "b.yaml": strings.Repeat(fmt.Sprintln(i), 50)}))
	}
	everywhere(t, r, func(t *testing.T, g Repository) {
		g.Ref.Commit = commits[1]
		sources.WantFiles(t, fetch(t, &g, head(t, &g)), map[string]string{"a.yaml": "1", "b.yaml": strings.Repeat("1\n", 50)})

		missing := strings.Repeat("12", 20)
		g.Ref.Commit = missing
		_, err := g.Fetch(t.Context(), head(t, &g))
		sources.WantError(t, err, source.ErrRefMissing)
	})
}

func TestFetchPath(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{
		"pools/a.yaml": "a", "pools/sub/b.yml": "b", "pools/README.md": "r",
		"other/c.yaml": "c", "top.yaml": "t", "link": "-> pools",
	})
	pools := map[string]string{"a.yaml": "a", "sub/b.yml": "b"}
	cases := map[string]struct {
		reason string
		path   string
		want   map[string]string
		err    error
	}{
		"plain":                       {"a folder", "pools", pools, nil},
		"dot slash":                   {"F17: ./dir is dir, not an empty tree", "./pools", pools, nil},
		"slash":                       {"dir/ is dir", "pools/", pools, nil},
		"both":                        {"and so is this", "././pools//", pools, nil},
		"inside":                      {"a folder in a folder", "pools/sub", map[string]string{"b.yml": "b"}, nil},
		"round about":                 {".. that stays inside is harmless", "other/../pools", pools, nil},
		"missing":                     {"a missing path is an error, not an empty snapshot", "nope", nil, source.ErrPathMissing},
		"below":                       {"missing below a folder that is there", "pools/nope/x", nil, source.ErrPathMissing},
		"file":                        {"a file is no folder", "pools/a.yaml", nil, source.ErrPathNotFolder},
		"through file":                {"nor is there anything below it", "pools/a.yaml/x", nil, source.ErrPathNotFolder},
		"link":                        {"a symbolic link is not followed", "link", nil, source.ErrPathNotFolder},
		"outside":                     {"nothing outside of the repository", "../x", nil, source.ErrInvalid},
		"absolute":                    {"paths are relative to the repository", "/pools", nil, source.ErrInvalid},
		"control":                     {"no control characters", "a\nb", nil, source.ErrInvalid},
		"root and a link to a folder": {"the link could have stood for pools", ".", nil, source.ErrFile},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshot, err := both(t.Context(), &Repository{URL: r.URL(), Path: c.path})
			if c.err != nil {
				sources.WantError(t, err, c.err)
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			sources.WantFiles(t, snapshot, c.want)
		})
	}
	r.Commit(map[string]string{"link": ""})
	for _, root := range []string{"", ".", "./"} {
		snapshot := fetch(t, &Repository{URL: r.URL(), Path: root}, head(t, &Repository{URL: r.URL()}))
		if got := sources.Contents(t, snapshot.Files); len(got) != 4 {
			t.Errorf("path %q: got %v", root, got)
		}
	}
}

func TestFetchTreeHash(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a"})
	g := &Repository{URL: r.URL(), Path: "pools"}
	before := fetch(t, g, head(t, g))
	r.Commit(map[string]string{"docs/x.md": "x"})
	after := fetch(t, g, head(t, g))
	if before.TreeHash != after.TreeHash || before.TreeHash != r.Git("rev-parse", "HEAD:pools") {
		t.Errorf("a commit elsewhere changes no pool: %s, %s", before.TreeHash, after.TreeHash)
	}
	r.Commit(map[string]string{"pools/a.yaml": "b"})
	if changed := fetch(t, g, head(t, g)); changed.TreeHash == before.TreeHash {
		t.Error("a change must show")
	}
}

// F18: the remote is forced back to an ancestor.
func TestFetchForcedBack(t *testing.T) {
	r := sources.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "1"})
	r.Commit(map[string]string{"a.yaml": "2"})
	everywhere(t, r, func(t *testing.T, g Repository) {
		second := r.Git("rev-parse", "HEAD")
		sources.WantFiles(t, fetch(t, &g, head(t, &g)), map[string]string{"a.yaml": "2"})
		r.Git("reset", "--hard", first)
		defer r.Git("reset", "--hard", second)
		revision := head(t, &g)
		if revision != "main@sha1:"+first {
			t.Fatalf("Head is %s", revision)
		}
		sources.WantFiles(t, fetch(t, &g, revision), map[string]string{"a.yaml": "1"})
	})
}

// The branch moves between Head and Fetch: the revision asked for, or an error.
func TestFetchMoved(t *testing.T) {
	t.Run("forward", func(t *testing.T) {
		r := sources.NewRepo(t)
		r.Commit(map[string]string{"a.yaml": "1"})
		everywhere(t, r, func(t *testing.T, g Repository) {
			g.Ref.Branch = "main"
			asked := head(t, &g)
			want := sources.Contents(t, fetch(t, &g, asked).Files)
			r.Commit(map[string]string{"a.yaml": t.Name()})
			snapshot, err := g.Fetch(t.Context(), asked)
			if strings.HasPrefix(t.Name(), "TestFetchMoved/forward/old_ssh") { // git gives it otherwise
				sources.WantError(t, err, source.ErrMoved)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sources.WantFiles(t, snapshot, want)
		})
	})
	t.Run("rewritten", func(t *testing.T) {
		r := sources.NewRepo(t)
		r.Commit(map[string]string{"a.yaml": "1"})
		everywhere(t, r, func(t *testing.T, g Repository) {
			g.Ref.Branch = "main"
			asked := head(t, &g)
			r.Git("commit", "--quiet", "--amend", "--message="+t.Name())
			snapshot, err := g.Fetch(t.Context(), asked)
			if strings.Contains(t.Name(), "/old_") {
				sources.WantError(t, err, source.ErrMoved)
			} else if err != nil || snapshot.Revision != asked { // git of version 2 gives out what it has
				t.Errorf("%v", err)
			}
			fetch(t, &g, head(t, &g))
		})
	})
}

func TestFetchRevision(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "1"})
	for _, revision := range []string{"", "main", "main@sha1:", "main@sha1:123", "@sha1:" + strings.Repeat("1", 40), "sha1:" + strings.Repeat("0", 40)} {
		_, err := (&Repository{URL: r.URL()}).Fetch(t.Context(), revision)
		sources.WantError(t, err, source.ErrInvalid)
	}
}

func TestFetchIsAFileSystem(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", "pools/x/y/z.yaml": "z", "pools/x/empty.yaml": "\n", "pools/x.d/b.yaml": "b"})
	g := &Repository{URL: r.URL(), Path: "pools"}
	snapshot := fetch(t, g, head(t, g))
	if err := fstest.TestFS(snapshot.Files, "a.yaml", "x/y/z.yaml", "x/empty.yaml", "x.d/b.yaml"); err != nil {
		t.Error(err)
	}
	data, err := fs.ReadFile(snapshot.Files, "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data[0] = 'X'
	if again := sources.Contents(t, snapshot.Files)["a.yaml"]; again != "a" {
		t.Errorf("a reader changed the snapshot: %q", again)
	}
}

func TestFetchConcurrently(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a", "b/c.yaml": "c"})
	g := &Repository{URL: serveHTTP(t, r, false, nil).repoURL()}
	revision := head(t, g)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			snapshot, err := g.Fetch(t.Context(), revision)
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(map[string]string{"a.yaml": "a", "b/c.yaml": "c"}, sources.Contents(t, snapshot.Files)); diff != "" {
				t.Error(diff)
			}
		})
	}
	wg.Wait()
}

// A server that may leave out large files is asked to: those that nobody asks
// for do not travel, and those that are asked for are still named.
func TestFetchPartial(t *testing.T) {
	r := sources.NewRepo(t)
	r.Git("config", "uploadpack.allowFilter", "true")
	r.Commit(map[string]string{"pools/a.yaml": "a", "pools/logo.png": sources.Noise(200_000), "big.yaml": sources.Noise(200_000)})
	small := defaultLimits()
	small.FileBytes, small.packBytes = 1000, 50_000
	everywhere(t, r, func(t *testing.T, g Repository) {
		g.limits, g.Path = &small, "pools"
		sources.WantFiles(t, fetch(t, &g, head(t, &g)), map[string]string{"a.yaml": "a"})
		g.Path = ""
		_, err := g.Fetch(t.Context(), head(t, &g))
		sources.WantError(t, err, source.ErrTooLarge)
		if !strings.Contains(err.Error(), "big.yaml") {
			t.Errorf("%v does not name the file", err)
		}
	})
}

// BenchmarkFetch is a changed revision of a repository of 10,000 files.
func BenchmarkFetch(b *testing.B) {
	r := sources.NewRepo(b)
	var stream strings.Builder
	stream.WriteString("commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n")
	for i := range 10_000 {
		content := fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: pool-%d\n", i)
		fmt.Fprintf(&stream, "M 644 inline pools/%03d/%d.yaml\ndata %d\n%s\n", i/100, i, len(content), content)
	}
	r.Feed(stream.String(), "fast-import", "--quiet")
	r.Git("repack", "-adq")
	w := serveHTTP(b, r, false, nil)
	for name, url := range map[string]string{"http": w.repoURL(), "file": r.URL()} {
		b.Run(name, func(b *testing.B) {
			g := &Repository{URL: url, Path: "pools"}
			revision := head(b, g)
			b.ReportAllocs()
			for b.Loop() {
				fetch(b, g, revision)
			}
		})
	}
}

// A tag may stand for a folder or a file in place of a commit. The error names the tag and
// what it stands for, whatever the server and whether something is kept of an earlier fetch.
func TestFetchOfATagThatIsNoCommit(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a"})
	tree, blob := r.Git("rev-parse", "HEAD:pools"), r.Git("rev-parse", "HEAD:pools/a.yaml")
	annotated := func(name, target string) { r.Git("tag", "-a", "-m", "m", name, target) }
	r.Git("tag", "tree", tree)
	r.Git("tag", "blob", blob)
	annotated("2.0.0", tree)
	annotated("of-blob", blob)
	annotated("nested", "of-blob")
	r.Git("tag", "good")
	current, former := serveHTTP(t, r, false, nil), serveHTTP(t, r, false, old)
	for _, c := range []struct {
		ref  Ref
		says string
	}{
		{Ref{Tag: "tree"}, `tag "tree" stands for a tree, and not for a commit`},
		{Ref{Tag: "blob"}, `tag "blob" stands for a blob, and not for a commit`},
		{Ref{Semver: "*"}, `tag "2.0.0" stands for a tree, and not for a commit`},
		{Ref{Tag: "of-blob"}, `tag "of-blob" stands for a blob, and not for a commit`},
		{Ref{Tag: "nested"}, `tag "nested" stands for a blob, and not for a commit`},
		{Ref{Commit: r.Git("rev-parse", "of-blob")}, "stands for a tag, and not for a commit"},
	} {
		for name, url := range map[string]string{"version 2": current.repoURL(), "version 0": former.repoURL(), "file": r.URL()} {
			cache := NewCaches()
			t.Cleanup(cache.Close)
			if _, _, err := (&Repository{URL: url, Ref: Ref{Tag: "good"}, Cache: cache.Of("x", "x")}).Latest(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				revision, _, err := (&Repository{URL: url, Ref: c.ref, Cache: cache.Of("x", "x")}).Latest(t.Context(), "")
				sources.WantError(t, err, source.ErrNotCommit)
				if !strings.Contains(fmt.Sprint(err), c.says) || revision == "" {
					t.Errorf("%s: %v of %q, want %s", name, err, revision, c.says)
				}
			}
		}
	}
}
