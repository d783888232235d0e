package controller

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is a Git repository with a working copy, made by the git program.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: filepath.Join(t.TempDir(), "repo")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

// gitEnvironment keeps the settings of whoever runs the tests out of them.
func gitEnvironment() []string {
	env := slices.DeleteFunc(os.Environ(), func(each string) bool { return strings.HasPrefix(each, "GIT_") })
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, gitEnvironment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// files are what a commit writes, by path; an empty content deletes.
type files map[string]string

// commit writes files and returns the revision that a source on the branch main
// has then.
func (r *repository) commit(changed files) string {
	r.t.Helper()
	for name, content := range changed {
		r.writeFile(name, content)
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message=c")
	return r.revision()
}

// writeFile writes a file, or deletes it.
func (r *repository) writeFile(name, content string) {
	r.t.Helper()
	full := filepath.Join(r.dir, name)
	if content == "" {
		if err := os.Remove(full); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) revision() string { return "main@sha1:" + r.git("rev-parse", "main") }

func (r *repository) url() string { return "file://" + r.dir }
