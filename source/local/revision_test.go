package local

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestLocalResolveAsGitDoes(t *testing.T) {
	r := sources.NewRepo(t)
	first := r.Commit(map[string]string{"a": "1"})
	r.Git("tag", "--annotate", "--message=x", "v1")
	r.Git("tag", "light")
	r.Git("tag", "--annotate", "--message=x", "of-a-tag", "v1")
	r.Commit(map[string]string{"a": "2"})
	r.Git("checkout", "--quiet", "-b", "feature/x", "v1")
	side := r.Commit(map[string]string{"b": "1"})
	r.Git("checkout", "--quiet", "main")
	r.Git("merge", "--quiet", "--no-ff", "--message=m", "feature/x")
	r.Git("branch", "v1", "main") // a tag goes before a branch
	r.Git("branch", "@at", "main~1")
	c := r.Clone(t)
	c.Git("fetch", "--quiet", "origin", "feature/x")
	l := open(t, c.Dir)
	for _, revision := range []string{
		"HEAD", "@", "main", "origin/main", "origin", "origin/feature/x", "refs/remotes/origin/feature/x", "remotes/origin/main",
		"v1", "tags/v1", "refs/tags/v1", "light", "of-a-tag", "of-a-tag~0", "origin/v1", "origin/@at", "FETCH_HEAD",
		"HEAD~", "HEAD~1", "HEAD~2", "HEAD^", "HEAD^1", "HEAD^2", "HEAD^2~1", "HEAD^^", "HEAD^0", "v1^{}", "v1^{commit}", "HEAD^2^{commit}~1",
		first, first[:7], first[:8], first[:39], strings.ToUpper(side[:10]), side[:9] + "~1",
	} {
		want := c.Git("rev-parse", revision+"^{commit}")
		got, err := l.Resolve(t.Context(), revision)
		if err != nil || !strings.HasSuffix(got, "sha1:"+want) {
			t.Errorf("%s is %s, %v; git says %s", revision, got, err, want)
		}
		if named, err := object.ParseRevision(got); err != nil || named.String() != got {
			t.Errorf("%s gives %s, which cannot be read: %v", revision, got, err)
		}
	}
	for revision, want := range map[string]struct {
		kind  error
		names string
	}{
		"nope":                    {source.ErrRefMissing, `"nope"`},
		"feature/x":               {source.ErrRefMissing, `"feature/x"`},
		strings.Repeat("1", 40):   {source.ErrRefMissing, "111"},
		"abc":                     {source.ErrRefMissing, `"abc"`},
		"HEAD~9":                  {source.ErrRefMissing, "no parent"},
		"HEAD^3":                  {source.ErrRefMissing, "2 parents"},
		c.Git("write-tree"):       {source.ErrNotCommit, "is a tree"},
		"":                        {source.ErrInvalid, `""`},
		"-x":                      {source.ErrInvalid, `"-x"`},
		"main..v1":                {source.ErrInvalid, "range"},
		"main...v1":               {source.ErrInvalid, "range"},
		"HEAD@{1}":                {source.ErrInvalid, "not known here"},
		"HEAD:a":                  {source.ErrInvalid, "not known here"},
		"HEAD^{tree}":             {source.ErrInvalid, "not known here"},
		"HEAD~x":                  {source.ErrInvalid, "not known here"},
		"HEAD~99999999999":        {source.ErrInvalid, "not known here"},
		"~1":                      {source.ErrInvalid, `"~1"`},
		"a\x1b[31m":               {source.ErrInvalid, `\x1b`},
		"../../../../etc/passwd":  {source.ErrInvalid, "is no revision"},
		"refs/heads/./main":       {source.ErrInvalid, "is no revision"},
		"config":                  {source.ErrRefMissing, `"config"`},
		strings.Repeat("a", 1000): {source.ErrInvalid, "aaa"},
	} {
		got, err := l.Resolve(t.Context(), revision)
		if err == nil {
			t.Errorf("%q is %s", revision, got)
			continue
		}
		sources.WantError(t, err, want.kind)
		if !strings.Contains(err.Error(), want.names) {
			t.Errorf("%q: %v does not say %s", revision, err, want.names)
		}
	}
	_, err := open(t, r.Clone(t, "--depth=1").Dir).Resolve(t.Context(), "HEAD~1")
	sources.WantError(t, err, source.ErrIncomplete)
	if !strings.Contains(source.Hint(err), "fetch-depth: 0") {
		t.Errorf("the hint of a shallow clone is %q", source.Hint(err))
	}
}

func TestLocalAbbreviationOfSeveralCommits(t *testing.T) {
	r := sources.NewRepo(t)
	tree := r.Feed("", "mktree")
	seen := map[string]string{}
	for i := 0; ; i++ { // until two begin with the same four digits
		content := fmt.Sprintf("tree %s\nauthor a <a@example.com> 1700000000 +0000\ncommitter a <a@example.com> 1700000000 +0000\n\n%d\n", tree, i)
		prefix := plumbing.ComputeHash(plumbing.CommitObject, []byte(content)).String()[:4]
		if seen[prefix] == "" {
			seen[prefix] = content
			continue
		}
		for _, each := range []string{seen[prefix], content} {
			r.Git("update-ref", "refs/heads/main", r.Feed(each, "hash-object", "-t", "commit", "-w", "--stdin"))
		}
		l := open(t, r.Dir)
		_, err := l.Resolve(t.Context(), prefix)
		sources.WantError(t, err, source.ErrRefMissing)
		if !strings.Contains(err.Error(), "2 commits begin with "+prefix) {
			t.Error(err)
		}
		whole := r.Git("rev-parse", "main")
		if got, err := l.Resolve(t.Context(), whole); err != nil || got != "sha1:"+whole {
			t.Errorf("%s is %s, %v", whole, got, err)
		}
		return
	}
}

// Random histories with random dates, against the git program.
func TestLocalMergeBaseAsGitDoes(t *testing.T) {
	r := sources.NewRepo(t)
	random := rand.New(rand.NewPCG(1, 1))
	const size = 60
	var history strings.Builder
	names := make([]string, size)
	for i := range size {
		names[i] = fmt.Sprintf("c%d", i)
		fmt.Fprintf(&history, "commit refs/heads/c%d\nmark :%d\ncommitter a <a@example.com> %d +0000\ndata 0\n", i, i+1, 1700000000+random.IntN(50))
		if i > 3 {
			first, second := i-random.IntN(8), i-random.IntN(8) // marks begin at 1
			fmt.Fprintf(&history, "from :%d\n", max(1, first))
			if max(1, first) != max(1, second) && random.IntN(2) == 0 {
				fmt.Fprintf(&history, "merge :%d\n", max(1, second))
			}
		}
	}
	r.Feed(history.String(), "fast-import", "--quiet", "--force")
	commits := strings.Fields(r.Git(append([]string{"rev-parse"}, names...)...))
	r.Git("update-ref", "HEAD", commits[size-1])
	l := open(t, r.Dir)
	counts := map[int]int{}
	for range 60 {
		a, b := commits[random.IntN(size)], commits[random.IntN(size)]
		want := strings.Fields(r.TryGit("merge-base", "--all", a, b))
		counts[len(want)]++
		got, err := l.MergeBase(t.Context(), "sha1:"+a, "sha1:"+b)
		if len(want) == 1 {
			if err != nil || got != "sha1:"+want[0] {
				t.Errorf("merge base of %s and %s is %s, %v; git says %s", a, b, got, err, want[0])
			}
			continue
		}
		sources.WantError(t, err, source.ErrUnrelated)
		for _, each := range want {
			if !strings.Contains(err.Error(), each[:12]) {
				t.Errorf("%v does not name %s", err, each)
			}
		}
		if len(want) > 1 && !strings.Contains(err.Error(), fmt.Sprintf("there are %d:", len(want))) {
			t.Errorf("%v does not count %d", err, len(want))
		}
	}
	if counts[0] == 0 || counts[1] == 0 || counts[2]+counts[3] == 0 {
		t.Errorf("the histories do not have all there is: %v", counts)
	}
}

func TestLocalMergeBaseInAShallowClone(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a": "1"})
	r.Git("checkout", "--quiet", "-b", "side")
	r.Commit(map[string]string{"b": "1"})
	r.Git("checkout", "--quiet", "main")
	r.Commit(map[string]string{"a": "2"})
	shallow := r.Clone(t, "--depth=1", "--no-single-branch")
	merge := func() (string, error) {
		l := open(t, shallow.Dir)
		one, err := l.Resolve(t.Context(), "origin/main")
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.Resolve(t.Context(), "origin/side")
		if err != nil {
			t.Fatal(err)
		}
		return l.MergeBase(t.Context(), one, other)
	}
	_, err := merge()
	sources.WantError(t, err, source.ErrIncomplete)
	for _, says := range []string{"origin/main", "origin/side"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not name %s", err, says)
		}
	}
	if !strings.Contains(source.Hint(err), "fetch-depth: 0") || !strings.Contains(source.Hint(err), "GIT_DEPTH: 0") {
		t.Errorf("the hint is %q", source.Hint(err))
	}
	shallow.Git("fetch", "--quiet", "--unshallow")
	if got, err := merge(); err != nil || got != "sha1:"+r.Git("merge-base", "main", "side") {
		t.Errorf("with all of the history the merge base is %s, %v", got, err)
	}
}
