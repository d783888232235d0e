package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A run of one version after that of another one is of the same commit, although the results
// of the first are not committed yet.
func TestRevisionLeavesResultsOut(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir)) // nor one around it
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		identity := []string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}
		out, err := exec.CommandContext(t.Context(), "git", append(identity, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if revision := revisionOf(t.Context(), dir); revision != "unknown" {
		t.Errorf("without a history it is %q", revision)
	}
	git("init", "-q")
	for _, name := range []string{"main.go", resultsFile, pageFile} {
		write(name, "1")
	}
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	commit := git("rev-parse", "--short", "HEAD")
	write(resultsFile, "2")
	write(pageFile, "2")
	if revision := revisionOf(t.Context(), dir); revision != commit {
		t.Errorf("with new results it is %q, want %q", revision, commit)
	}
	write("main.go", "2")
	if revision := revisionOf(t.Context(), dir); revision != commit+"-dirty" {
		t.Errorf("with a changed file it is %q, want %q", revision, commit+"-dirty")
	}
}
