package source

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestLocalResolveAsGitDoes(t *testing.T) {
	r := newRepo(t)
	first := r.commit(map[string]string{"a": "1"})
	r.git("tag", "--annotate", "--message=x", "v1")
	r.git("tag", "light")
	r.git("tag", "--annotate", "--message=x", "of-a-tag", "v1")
	r.commit(map[string]string{"a": "2"})
	r.git("checkout", "--quiet", "-b", "feature/x", "v1")
	side := r.commit(map[string]string{"b": "1"})
	r.git("checkout", "--quiet", "main")
	r.git("merge", "--quiet", "--no-ff", "--message=m", "feature/x")
	r.git("branch", "v1", "main") // a tag goes before a branch
	r.git("branch", "@at", "main~1")
	c := cloneOf(t, r)
	c.git("fetch", "--quiet", "origin", "feature/x")
	l := openLocal(t, c.dir)
	for _, revision := range []string{
		"HEAD", "@", "main", "origin/main", "origin", "origin/feature/x", "refs/remotes/origin/feature/x", "remotes/origin/main",
		"v1", "tags/v1", "refs/tags/v1", "light", "of-a-tag", "of-a-tag~0", "origin/v1", "origin/@at", "FETCH_HEAD",
		"HEAD~", "HEAD~1", "HEAD~2", "HEAD^", "HEAD^1", "HEAD^2", "HEAD^2~1", "HEAD^^", "HEAD^0", "v1^{}", "v1^{commit}", "HEAD^2^{commit}~1",
		first, first[:7], first[:8], first[:39], strings.ToUpper(side[:10]), side[:9] + "~1",
	} {
		want := c.git("rev-parse", revision+"^{commit}")
		got, err := l.Resolve(t.Context(), revision)
		if err != nil || !strings.HasSuffix(got, "sha1:"+want) {
			t.Errorf("%s is %s, %v; git says %s", revision, got, err, want)
		}
		if named, err := parseRevision(got); err != nil || named.String() != got {
			t.Errorf("%s gives %s, which cannot be read: %v", revision, got, err)
		}
	}
	for revision, want := range map[string]struct {
		kind  error
		names string
	}{
		"nope":                    {ErrRefMissing, `"nope"`},
		"feature/x":               {ErrRefMissing, `"feature/x"`},
		strings.Repeat("1", 40):   {ErrRefMissing, "111"},
		"abc":                     {ErrRefMissing, `"abc"`},
		"HEAD~9":                  {ErrRefMissing, "no parent"},
		"HEAD^3":                  {ErrRefMissing, "2 parents"},
		c.git("write-tree"):       {ErrRefMissing, "is a tree"},
		"":                        {ErrInvalid, `""`},
		"-x":                      {ErrInvalid, `"-x"`},
		"main..v1":                {ErrInvalid, "range"},
		"main...v1":               {ErrInvalid, "range"},
		"HEAD@{1}":                {ErrInvalid, "not known here"},
		"HEAD:a":                  {ErrInvalid, "not known here"},
		"HEAD^{tree}":             {ErrInvalid, "not known here"},
		"HEAD~x":                  {ErrInvalid, "not known here"},
		"HEAD~99999999999":        {ErrInvalid, "not known here"},
		"~1":                      {ErrInvalid, `"~1"`},
		"a\x1b[31m":               {ErrInvalid, `\x1b`},
		"../../../../etc/passwd":  {ErrInvalid, "is no revision"},
		"refs/heads/./main":       {ErrInvalid, "is no revision"},
		"config":                  {ErrRefMissing, `"config"`},
		strings.Repeat("a", 1000): {ErrInvalid, "aaa"},
	} {
		got, err := l.Resolve(t.Context(), revision)
		if err == nil {
			t.Errorf("%q is %s", revision, got)
			continue
		}
		wantError(t, err, want.kind)
		if !strings.Contains(err.Error(), want.names) {
			t.Errorf("%q: %v does not say %s", revision, err, want.names)
		}
	}
	_, err := openLocal(t, cloneOf(t, r, "--depth=1").dir).Resolve(t.Context(), "HEAD~1")
	wantError(t, err, ErrIncomplete)
	if !strings.Contains(Hint(err), "fetch-depth: 0") {
		t.Errorf("the hint of a shallow clone is %q", Hint(err))
	}
}

func TestLocalAbbreviationOfSeveralCommits(t *testing.T) {
	r := newRepo(t)
	tree := r.feed("", "mktree")
	seen := map[string]string{}
	for i := 0; ; i++ { // until two begin with the same four digits
		content := fmt.Sprintf("tree %s\nauthor a <a@example.com> 1700000000 +0000\ncommitter a <a@example.com> 1700000000 +0000\n\n%d\n", tree, i)
		prefix := plumbing.ComputeHash(plumbing.CommitObject, []byte(content)).String()[:4]
		if seen[prefix] == "" {
			seen[prefix] = content
			continue
		}
		for _, each := range []string{seen[prefix], content} {
			r.git("update-ref", "refs/heads/main", r.feed(each, "hash-object", "-t", "commit", "-w", "--stdin"))
		}
		l := openLocal(t, r.dir)
		_, err := l.Resolve(t.Context(), prefix)
		wantError(t, err, ErrRefMissing)
		if !strings.Contains(err.Error(), "2 commits begin with "+prefix) {
			t.Error(err)
		}
		whole := r.git("rev-parse", "main")
		if got, err := l.Resolve(t.Context(), whole); err != nil || got != "sha1:"+whole {
			t.Errorf("%s is %s, %v", whole, got, err)
		}
		return
	}
}

// Random histories with random dates, against the git program.
func TestLocalMergeBaseAsGitDoes(t *testing.T) {
	r := newRepo(t)
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
	r.feed(history.String(), "fast-import", "--quiet", "--force")
	commits := strings.Fields(r.git(append([]string{"rev-parse"}, names...)...))
	r.git("update-ref", "HEAD", commits[size-1])
	l := openLocal(t, r.dir)
	counts := map[int]int{}
	for range 60 {
		a, b := commits[random.IntN(size)], commits[random.IntN(size)]
		want := strings.Fields(r.allowed("merge-base", "--all", a, b))
		counts[len(want)]++
		got, err := l.MergeBase(t.Context(), "sha1:"+a, "sha1:"+b)
		if len(want) == 1 {
			if err != nil || got != "sha1:"+want[0] {
				t.Errorf("merge base of %s and %s is %s, %v; git says %s", a, b, got, err, want[0])
			}
			continue
		}
		wantError(t, err, ErrUnrelated)
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
	r := newRepo(t)
	r.commit(map[string]string{"a": "1"})
	r.git("checkout", "--quiet", "-b", "side")
	r.commit(map[string]string{"b": "1"})
	r.git("checkout", "--quiet", "main")
	r.commit(map[string]string{"a": "2"})
	shallow := cloneOf(t, r, "--depth=1", "--no-single-branch")
	merge := func() (string, error) {
		l := openLocal(t, shallow.dir)
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
	wantError(t, err, ErrIncomplete)
	for _, says := range []string{"origin/main", "origin/side"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not name %s", err, says)
		}
	}
	if !strings.Contains(Hint(err), "fetch-depth: 0") || !strings.Contains(Hint(err), "GIT_DEPTH: 0") {
		t.Errorf("the hint is %q", Hint(err))
	}
	shallow.git("fetch", "--quiet", "--unshallow")
	if got, err := merge(); err != nil || got != "sha1:"+r.git("merge-base", "main", "side") {
		t.Errorf("with all of the history the merge base is %s, %v", got, err)
	}
}
