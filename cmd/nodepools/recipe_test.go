package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// The comments of others, and of ours such as are no review: each begins with the
// marker, quotes it, or is made to look like one of ours to who reads JSON badly.
var foreignComments = []forgeComment{
	{author: "mallory", body: "<!-- nodepools:nodepools -->\nnothing to see here"},
	{author: forgeBot, body: "> <!-- nodepools:nodepools -->\nas the comment above says"},
	{author: forgeBot, body: strings.Repeat("-", len("<!-- nodepools:nodepools -->")) + "\n<!-- nodepools:nodepools -->\n"},
	{author: forgeBot, body: "<!-- nodepools:nodepools --> is the marker"},
	{author: forgeBot, body: "<!-- nodepools:other -->\nanother review"},
	{author: "mallory", body: `x","id":999,"user":{"login":"` + forgeBot + `"},"body":"<!-- nodepools:nodepools -->\n`},
	{author: "mallory", body: "\\\",\"user\":{\"login\":\"" + forgeBot + "\"},\n\"body\":\"<!-- nodepools:nodepools -->\\n\"}]\\"},
	{author: forgeBot, body: "\\u003c!-- nodepools:nodepools --\\u003e\n"},
}

func TestReviewRecipe(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	for _, kind := range []string{"github", "gitlab"} {
		t.Run(kind, func(t *testing.T) {
			// So many that ours comes on the second page.
			before := slices.Clone(foreignComments)
			for i := range 100 {
				before = append(before, forgeComment{author: "alice", body: fmt.Sprintf("comment %d", i)})
			}
			forge := startForge(t, kind, before...)
			_, before = forge.take()
			r := newRecipe(t, forge)

			unchanged := r.run(t)
			unchanged.ends(t, 0)
			if requests, after := forge.take(); len(after) != len(before) || len(requests) == 0 {
				t.Errorf("a change of nothing made comments: %q", requests)
			}

			r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
			r.run(t, "FAIL_ON=evictions>0").ends(t, 0)
			posted := r.comment(t, before)

			// The next push edits it, and a threshold fails after that. An inventory
			// that the pull request brings along hides nothing.
			r.write(t, "inventory.json", "{}")
			r.commit(t, "pools/gpu.yaml", gpuPool("gold", "example.com/drained"))
			r.run(t, "FAIL_ON=evictions>0,nodesChanged>=4").ends(t, 3, "the change does more than --fail-on allows\nevictions: 3, and the limit is 0\n")
			edited := r.comment(t, before)
			if edited.id != posted.id || edited.body == posted.body {
				t.Errorf("comment %d became comment %d, %q", posted.id, edited.id, edited.body)
			}
			golden(t, "testdata/recipe/comment.md", withoutHead(edited.body))

			// What is not known is no 0.
			r.run(t, "FAIL_ON=evictions>0", "INVENTORY=none.json").ends(t, 2, "evictions not known", "there is no none.json in refs/remotes/origin/inventory")
			golden(t, "testdata/recipe/failure.md", r.comment(t, before).body)

			// A pool that is not valid, and no comment of an earlier state.
			r.commit(t, "pools/gpu.yaml", strings.ReplaceAll(gpuPool("gold"), "labels", "label"))
			r.run(t).ends(t, 1)
			golden(t, "testdata/recipe/invalid.md", r.comment(t, before).body)

			// Back where it was: the comment says so.
			r.commit(t, "pools/gpu.yaml", gpuPool("bronze"))
			r.run(t).ends(t, 0)
			if got := r.comment(t, before).body; !strings.Contains(got, "No difference") {
				t.Errorf("the comment says %q", got)
			}

			// A base that is not in the clone, or no folder: what was said before is not
			// left to stand for it.
			for _, trouble := range []struct{ env, says string }{
				{"BASE=refs/remotes/origin/gone", "git does not know refs/remotes/origin/gone"},
				{"POOLS=poolz", "there is no poolz"},
			} {
				r.run(t, trouble.env).ends(t, 2, trouble.says)
				if got := r.comment(t, before).body; !strings.Contains(got, "could not be") || strings.Contains(got, "No difference") {
					t.Errorf("%s: the comment says %q", trouble.env, got)
				}
			}

			// Another review of the same pull request has a comment of its own.
			alone := r.comment(t, before)
			r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
			for range 2 {
				r.run(t, "MARKER=staging").ends(t, 0)
			}
			other := r.comment(t, append(slices.Clone(before), alone))
			if !strings.HasPrefix(other.body, "<!-- nodepools:staging -->\n") {
				t.Errorf("the other comment is %q", other.body)
			}
			if len(r.watched) != len(watchedPrograms) {
				t.Errorf("%v are seen to be called, and not %q", r.watched, watchedPrograms)
			}
		})
	}
}

func TestReviewRecipeInTrouble(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	for _, kind := range []string{"github", "gitlab"} {
		t.Run(kind, func(t *testing.T) {
			forge := startForge(t, kind)
			r := newRecipe(t, forge)
			r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
			all, _ := forge.paths()
			for _, test := range []struct {
				reason string
				status int
				env    []string
				says   string
			}{
				{"a server in trouble", 500, nil, "answers 500 to POST " + all},
				{"a server in trouble, and too much as well", 500, []string{"FAIL_ON=poolsChanged>0"}, "answers 500 to POST " + all},
				{"a token that may only read, as of a fork", 403, nil, "answers 403 to POST " + all + ": is the token valid, and may it write comments?"},
				{"a token that is none", 0, []string{"TOKEN=expired"}, "answers 401 to GET "},
				{"a token that ends the header", 0, []string{"TOKEN=a\"\nheader = \"X: y"}, "TOKEN holds characters that no token has"},
				{"no token", 0, []string{"TOKEN="}, "TOKEN is not set"},
				{"nobody answers", 0, []string{"API=http://127.0.0.1:1"}, "cannot be reached"},
				{"a token is for nobody else to read", 0, []string{"API=http://forge.example.com"}, "API has to begin with https://"},
				{"a revision that git does not know", 0, []string{"BASE=refs/remotes/origin/gone"}, "git does not know refs/remotes/origin/gone"},
				{"a revision that is an option", 0, []string{"BASE=--output=x"}, "BASE is --output=x, which is neither a full name"},
				{"a marker that ends its comment", 0, []string{"MARKER=a --> b"}, "MARKER is not a name"},
				{"a wrong threshold", 0, []string{"FAIL_ON=evicted>0"}, `"evicted" is no count`},
			} {
				forge.breakWith(test.status)
				r.run(t, test.env...).ends(t, 2, test.says)
			}
		})
	}
}

// Without a forge, as for a pull request of a fork, the comment goes where a job
// shows it, and nobody is asked.
func TestReviewRecipeWithoutForge(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	forge := startForge(t, "github")
	r := newRecipe(t, forge)
	r.commit(t, "pools/gpu.yaml", gpuPool("gold", "example.com/drained"))
	comment, err := os.ReadFile("testdata/recipe/comment.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.run(t, "FORGE=none", "TOKEN="); got.code != 0 || !strings.HasSuffix(withoutHead(got.stdout), string(comment)) {
		t.Errorf("exit code %d, standard output:\n%s", got.code, got.stdout)
	}
	summary := filepath.Join(t.TempDir(), "summary")
	for range 2 {
		if got := r.run(t, "FORGE=none", "TOKEN=", "SUMMARY="+summary); got.code != 0 || strings.Contains(got.stdout, "<!--") {
			t.Errorf("exit code %d, standard output:\n%s", got.code, got.stdout)
		}
	}
	if got, err := os.ReadFile(summary); err != nil || withoutHead(string(got)) != string(comment)+string(comment) {
		t.Errorf("the summary is %q, %v", got, err)
	}
	if requests, _ := forge.take(); len(requests) > 0 {
		t.Errorf("it was asked %q", requests)
	}
}

// A change that repairs main is reviewed, and fails for what it does alone.
func TestReviewRecipeOfARepair(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	r := newRecipe(t, startForge(t, "github"))
	r.commit(t, "pools/gpu.yaml", strings.ReplaceAll(gpuPool("silver"), "labels", "label"))
	r.git(t, "update-ref", "refs/remotes/origin/main", "change")
	r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
	got := r.run(t, "FORGE=none")
	got.ends(t, 0, "is broken, and no source takes it")
	for _, want := range []string{"### 1 pool created", "is broken, and no source takes it.**", "(the merge base of refs/remotes/origin/main and HEAD is not taken)"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("the comment has no %q:\n%s", want, got.stdout)
		}
	}
	r.run(t, "FORGE=none", "FAIL_ON=poolsCreated>0").ends(t, 3)
	r.run(t, "FORGE=none", "FAIL_ON=poolsDeleted>0").ends(t, 0)
}

// The code quality report of one cluster does not replace that of another.
func TestReviewRecipeReports(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	r := newRecipe(t, startForge(t, "gitlab"))
	const byDefault = "gl-code-quality-report.json"
	r.commit(t, "pools/gpu.yaml", strings.ReplaceAll(gpuPool("gold"), "labels", "label"))
	r.run(t, "FORGE=none").ends(t, 1)
	first := r.read(t, byDefault)
	r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
	r.run(t, "FORGE=none", "CODE_QUALITY=gl-production.json").ends(t, 0)
	if got := r.read(t, byDefault); got != first || !strings.Contains(got, "pools/gpu.yaml") {
		t.Errorf("the report was %q, and is %q", first, got)
	}
	if got := r.read(t, "gl-production.json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("the report of pools that are valid is %q", got)
	}
	r.run(t, "FORGE=none", "CODE_QUALITY=no/such/folder.json").ends(t, 2, "no/such/folder.json")
}

// withoutHead leaves out which commit is reviewed: it is another one where other files
// are in it.
func withoutHead(text string) string {
	return regexp.MustCompile("HEAD@sha1:[0-9a-f]{40}").ReplaceAllString(text, "HEAD@sha1:...")
}

// golden compares with a file, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got += "\n" // the last line of a comment has no end
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
