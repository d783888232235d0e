package source

import (
	"fmt"
	"strings"
	"testing"
)

func TestTreeRefuses(t *testing.T) {
	small := defaultLimits()
	small.entries, small.fileBytes, small.totalBytes, small.depth = 4, 10, 15, 2
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   error
		names  string
	}{
		"link to YAML":      {"left out, it would read as deleted", map[string]string{"pools/a.yaml": "-> b.txt", "pools/b.txt": "b"}, ErrFile, "a.yaml"},
		"folder link":       {"pools may be behind it", map[string]string{"pools/sub": "-> ../other", "other/a.yaml": "a"}, ErrFile, "sub"},
		"folder links":      {"one over another, and a folder with a dot", map[string]string{"pools/team.a": "-> ../b", "b": "-> c/d", "c": "-> e", "e/d/a.yaml": "a"}, ErrFile, "team.a"},
		"link to the root":  {"a folder as well", map[string]string{"pools/x.d": "-> .."}, ErrFile, "x.d"},
		"link out":          {"a folder may be there", map[string]string{"pools/x": "-> ../../../etc"}, ErrFile, "x"},
		"absolute link":     {"and there", map[string]string{"pools/x": "-> /etc"}, ErrFile, "x"},
		"loop":              {"and nobody knows what was meant", map[string]string{"pools/x": "-> y", "pools/y": "-> x"}, ErrFile, "x"},
		"through a file":    {"nor here", map[string]string{"pools/x": "-> a.yaml/b", "pools/a.yaml": "a"}, ErrFile, "x"},
		"dangling":          {"pools may have been behind it", map[string]string{"pools/x": "-> nowhere"}, ErrFile, "x"},
		"large":             {"one file", map[string]string{"pools/a.yaml": strings.Repeat("a", 11)}, ErrTooLarge, "a.yaml"},
		"large together":    {"all files", map[string]string{"pools/a.yaml": strings.Repeat("a", 8), "pools/b.yaml": strings.Repeat("b", 8)}, ErrTooLarge, "b.yaml"},
		"many":              {"pool files and folders", map[string]string{"pools/a.yaml": "a", "pools/b.yml": "b", "pools/c/c.txt": "c", "pools/d/d.txt": "d", "pools/e.yaml": "e"}, ErrTooLarge, "e"},
		"deep":              {"folders in folders", map[string]string{"pools/a/b/c/d": "d"}, ErrTooLarge, "a/b/c"},
		"control character": {"could forge a line in a log", map[string]string{"pools/a\n.yaml": "a"}, ErrFile, `a\n.yaml`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.commit(c.files)
			_, err := both(t.Context(), &Git{URL: r.fileURL(), Path: "pools", limits: &small})
			wantError(t, err, c.want)
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %v does not name %s", c.reason, err, c.names)
			}
		})
	}
}

func TestTreeLeavesHarmlessLinksOut(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"pools/a.yaml": "a", "pools/README.md": "-> ../README.md", "README.md": "r", "pools/LICENSE": "-> ./b/c.txt", "pools/b/c.txt": "c", "pools/COPY": "-> LICENSE"})
	snapshot, err := both(t.Context(), &Git{URL: r.fileURL(), Path: "pools"})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, snapshot, map[string]string{"a.yaml": "a"})
}

func TestTreeSubmodule(t *testing.T) {
	r := newRepo(t)
	commit := r.commit(map[string]string{"pools/a.yaml": "a"})
	r.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",pools/sub")
	r.git("commit", "--quiet", "--message=c")
	_, err := both(t.Context(), &Git{URL: r.fileURL(), Path: "pools"})
	wantError(t, err, ErrFile)
	_, err = both(t.Context(), &Git{URL: r.fileURL(), Path: "pools/sub"})
	wantError(t, err, ErrPathNotFolder)
}

func TestTreeEmpty(t *testing.T) {
	r := newRepo(t)
	r.commit(nil)
	_, err := both(t.Context(), &Git{URL: r.fileURL()})
	wantError(t, err, ErrPathEmpty)
}

// Trees that the git program makes on request but never by itself.
func TestTreeCrafted(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a"})
	blob := r.git("rev-parse", "HEAD:a.yaml")
	tree := func(lines ...string) string { return r.feed(strings.Join(lines, "\n")+"\n", "mktree", "--missing") }
	nested := tree("100644 blob " + blob + "\ta.yaml")
	for range 30 { // 2^30 files in 30 trees
		nested = tree("040000 tree "+nested+"\tx", "040000 tree "+nested+"\ty")
	}
	cases := map[string]struct {
		reason string
		tree   string
		want   error
	}{
		"dot dot":   {"no way out", tree("100644 blob " + blob + "\t.."), ErrFile},
		"same name": {"one of them would be lost", tree("100644 blob "+blob+"\ta.yaml", "100644 blob "+blob+"\ta.yaml"), ErrFile},
		"bomb":      {"few objects, many files", nested, ErrTooLarge},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			commit := r.git("commit-tree", "-m", "c", c.tree)
			r.git("update-ref", "refs/heads/crafted", commit)
			_, err := both(t.Context(), &Git{URL: r.fileURL(), Ref: Ref{Branch: "crafted"}})
			wantError(t, err, c.want)
		})
	}
}

// The limits that are documented, as they are.
func TestTreeLimits(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"big.yaml": strings.Repeat("a", MaxFileBytes+1), "fits/fits.yaml": strings.Repeat("a", MaxFileBytes)})
	var stream strings.Builder
	stream.WriteString("commit refs/heads/many\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n")
	for i := range MaxEntries + 1 {
		fmt.Fprintf(&stream, "M 644 inline %d.yaml\ndata 1\na\n", i)
	}
	stream.WriteString("commit refs/heads/total\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n")
	for i := range MaxTotalBytes/MaxFileBytes + 1 {
		fmt.Fprintf(&stream, "M 644 inline %d.yaml\ndata %d\n%s\n", i, MaxFileBytes, strings.Repeat("a", MaxFileBytes))
	}
	r.feed(stream.String(), "fast-import", "--quiet")
	for ref, want := range map[Ref]string{{}: `"big.yaml" is larger`, {Branch: "many"}: "20000 pool files", {Branch: "total"}: "together above"} {
		_, err := both(t.Context(), &Git{URL: r.fileURL(), Ref: ref})
		wantError(t, err, ErrTooLarge)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := both(t.Context(), &Git{URL: r.fileURL(), Path: "fits"}); err != nil {
		t.Error(err)
	}
}
