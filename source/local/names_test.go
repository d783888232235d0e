package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// What is listed is what Resolve takes, packed or not; a name that could be two things
// is written out.
func TestLocalNames(t *testing.T) {
	r := sources.NewRepo(t)
	first := r.Commit(map[string]string{"a": "1"})
	for _, ref := range []string{"refs/tags/v1", "refs/remotes/origin/main", "refs/remotes/origin/HEAD", "refs/heads/team/gpu", "refs/notes/commits", "refs/tags/both"} {
		r.Git("update-ref", ref, first)
	}
	r.Git("pack-refs", "--all")
	for _, ref := range []string{"refs/heads/both", "refs/remotes/origin/next", "refs/stash", "refs/heads/größe", "refs/heads/origin", "refs/heads/heads/main"} {
		r.Git("update-ref", ref, first)
	}
	for name, text := range map[string]string{"heads/main.lock": "", "heads/empty": "", "heads/a\x1b[2Jb": first} {
		if err := os.WriteFile(filepath.Join(r.Dir, ".git", "refs", filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, r.Dir)
	got, err := l.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Name{
		{"refs/heads/both", "refs/heads/both"},
		{"refs/heads/empty", "empty"},
		{"refs/heads/größe", "größe"},
		{"refs/heads/heads/main", "refs/heads/heads/main"},
		{"refs/heads/main", "main"},
		{"refs/heads/origin", "refs/heads/origin"},
		{"refs/heads/team/gpu", "team/gpu"},
		{"refs/remotes/origin/main", "origin/main"},
		{"refs/remotes/origin/next", "origin/next"},
		{"refs/tags/both", "refs/tags/both"},
		{"refs/tags/v1", "v1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, name := range got {
		if _, err := l.Resolve(t.Context(), name.Short); err != nil && name.Short != "empty" {
			t.Errorf("%s is listed, and %v", name.Short, err)
		}
	}
	var kinds, remote []string
	for _, name := range got {
		kinds = append(kinds, name.Kind())
		remote = append(remote, name.AtRemote())
	}
	if got, want := strings.Join(kinds, ","), "branch,branch,branch,branch,branch,branch,branch,remote branch,remote branch,tag,tag"; got != want {
		t.Errorf("kinds: %s, want %s", got, want)
	}
	if got, want := strings.Join(remote, ","), ",,,,,,,main,next,both,v1"; got != want {
		t.Errorf("at the remote: %s, want %s", got, want)
	}
}

// A folder added by git worktree has the names of its repository.
func TestLocalNamesOfAWorktree(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a": "1"})
	beside := filepath.Join(t.TempDir(), "beside")
	r.Git("worktree", "add", "-q", "-b", "next", beside)
	got, err := open(t, beside).Names(t.Context())
	if want := []Name{{"refs/heads/main", "main"}, {"refs/heads/next", "next"}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("names %v, %v; want %v", got, err, want)
	}
}

// A clone that somebody has made to harm its reader costs no time without end.
func TestLocalNamesOfAHostileClone(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a": "1"})
	l := open(t, r.Dir)

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Names(canceled)
	sources.WantError(t, err, source.ErrCanceled)

	packed := filepath.Join(r.Dir, ".git", "packed-refs")
	if err := os.WriteFile(packed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(packed, maxListBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = l.Names(t.Context())
	sources.WantError(t, err, source.ErrTooLarge)

	if err := os.Remove(packed); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(r.Dir, ".git", "refs", "heads", "all")); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Names(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("through a link to a folder there are %v, %v", got, err)
	}
}
