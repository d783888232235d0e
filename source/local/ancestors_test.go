package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// ancestorsOf are the generations at which the folder is another one than before, and the
// error that comes last.
func ancestorsOf(t *testing.T, r *sources.Repo, name, folder string) (generations []int, last error) {
	t.Helper()
	l := open(t, r.Dir)
	revision, err := l.Resolve(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	history := strings.Fields(r.Git("rev-list", "--first-parent", name))
	before := "none yet"
	for ancestor, err := range l.Ancestors(t.Context(), revision, folder) {
		if err != nil {
			return generations, err
		}
		if want := "sha1:" + history[ancestor.Generation]; ancestor.Revision != want {
			t.Errorf("generation %d is %s, want %s", ancestor.Generation, ancestor.Revision, want)
		}
		if ancestor.TreeHash != before {
			generations = append(generations, ancestor.Generation)
		}
		before = ancestor.TreeHash
	}
	return generations, nil
}

func TestAncestors(t *testing.T) {
	r := sources.NewRepo(t)
	for _, files := range []map[string]string{
		{"README.md": "no folder"},                 // 8
		{"pools/a.yaml": "a"},                      // 7
		{"README.md": "other"},                     // 6: the same folder
		{"pools/a.yaml": "b"},                      // 5
		{"pools/a.yaml": ""},                       // 4: no folder again
		{"pools": "a file"},                        // 3: nor here
		{"pools": ""},                              // 2: nor here
		{"pools/a.yaml": "a"},                      // 1: as it was
		{"pools/a.yaml": "c", "other/b.yaml": "b"}, // 0
	} {
		r.Commit(files)
	}
	// What is merged is no ancestor that a source has taken.
	r.Git("checkout", "--quiet", "-b", "topic", "main~1")
	r.Commit(map[string]string{"pools/topic.yaml": "t"})
	r.Git("checkout", "--quiet", "main")
	r.Git("merge", "--quiet", "--no-edit", "topic") // now everything is one further
	got, err := ancestorsOf(t, r, "main", "pools")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 6, 7, 9}, got); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
	if got, err := ancestorsOf(t, r, "main~9", "pools"); len(got) > 0 || err != nil {
		t.Errorf("before the first commit are %v, %v", got, err)
	}
	if got, err := ancestorsOf(t, r, "main~8", "."); len(got) != 1 || err != nil {
		t.Errorf("of the root are %v, %v", got, err)
	}

	shallow := r.Clone(t, "--depth=3")
	got, err = ancestorsOf(t, shallow, "main", "pools")
	sources.WantError(t, err, source.ErrIncomplete)
	if diff := cmp.Diff([]int{1, 2}, got); diff != "" || !strings.Contains(source.Hint(err), "fetch-depth: 0") {
		t.Errorf("in a shallow clone, with the hint %q (-want +got):\n%s", source.Hint(err), diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range open(t, r.Dir).Ancestors(ctx, "sha1:"+r.Git("rev-parse", "main"), "pools") {
		sources.WantError(t, err, source.ErrCanceled)
	}
	for _, err := range open(t, r.Dir).Ancestors(t.Context(), "main", "pools") {
		sources.WantError(t, err, source.ErrInvalid)
	}
}

func TestAncestorsAreBounded(t *testing.T) {
	r := sources.NewRepo(t)
	var stream strings.Builder
	for i := range maxGenerations + 1 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\nM 644 inline pools/a.yaml\ndata 1\n%d\n", i%2)
	}
	r.Feed(stream.String(), "fast-import", "--quiet")
	got, err := ancestorsOf(t, r, "main", "pools")
	if !errors.Is(err, source.ErrTooLarge) || len(got) != maxGenerations-1 {
		t.Errorf("they are %v, %v", got, err)
	}
}
