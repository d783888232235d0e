// Package sources makes Git repositories for the tests of whatever reads them, and
// checks what is read. [NewRepo] makes one; [TestHarmlessFiles] and its like are the
// rules that every kind of source has to keep.
package sources

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repo is a repository with a working copy, made by the git program.
type Repo struct {
	// Dir is the folder of the working copy.
	Dir string
	t   testing.TB
}

// NewRepo makes a repository without a commit, on the branch main.
func NewRepo(t testing.TB, initArgs ...string) *Repo {
	t.Helper()
	r := &Repo{t: t, Dir: filepath.Join(t.TempDir(), "repo")}
	if err := os.Mkdir(r.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Git(append([]string{"init", "--quiet", "--initial-branch=main"}, initArgs...)...)
	return r
}

// Clone makes another clone of the repository, with more arguments of git clone.
func (r *Repo) Clone(t testing.TB, args ...string) *Repo {
	t.Helper()
	c := &Repo{t: t, Dir: filepath.Join(t.TempDir(), "clone")}
	cmd := exec.Command("git", append(append([]string{"clone", "--quiet"}, args...), r.URL(), c.Dir)...)
	cmd.Env = Env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	return c
}

// Env is the environment of git. It keeps the settings of whoever runs the tests out
// of them, and each commit has the same author and date.
func Env() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			env = append(env, variable)
		}
	}
	return append(env,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
}

// Git runs git in the repository, and returns what it prints.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.Feed("", args...)
}

// Feed runs git with an input.
func (r *Repo) Feed(input string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, Env(), strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// TryGit runs git, which may say no.
func (r *Repo) TryGit(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, Env()
	out, _ := cmd.Output()
	return string(out)
}

// Commit writes files (a value that begins with "-> " is a symbolic link, an
// empty one deletes) and returns the hash of the commit.
func (r *Repo) Commit(files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		full := filepath.Join(r.Dir, name)
		if err := os.RemoveAll(full); err != nil {
			r.t.Fatal(err)
		}
		if content == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			r.t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message=c")
	return r.Git("rev-parse", "HEAD")
}

// Write writes a file of the working copy, and commits nothing.
func (r *Repo) Write(name, text string) {
	r.t.Helper()
	full := filepath.Join(r.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

// URL is the repository's, of this machine.
func (r *Repo) URL() string { return "file://" + r.Dir }
