package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recipe is a clone with a pull request in it, and the script that reviews it.
type recipe struct {
	forge        *forge
	script       string
	folder, seen string // the clone, and what programs were called with, see watch
	path         string
	watched      map[string]bool // programs that were called
}

func newRecipe(t *testing.T, forge *forge) *recipe {
	t.Helper()
	for _, program := range []string{"sh", "git", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the recipe needs %s", program)
		}
	}
	script, err := filepath.Abs("../../examples/ci/review.sh")
	if err != nil {
		t.Fatal(err)
	}
	r := &recipe{forge: forge, script: script, folder: t.TempDir(), seen: t.TempDir(), watched: map[string]bool{}}
	r.path = watch(t, r.seen) + string(filepath.ListSeparator) + os.Getenv("PATH")
	r.git(t, "init", "--quiet", "--initial-branch=inventory")
	r.commit(t, "inventory.json", inventoryOfRecipe(t))
	r.git(t, "update-ref", "refs/remotes/origin/inventory", "inventory")
	r.git(t, "checkout", "--quiet", "--orphan", "main")
	r.git(t, "rm", "--quiet", "--force", "inventory.json")
	r.commit(t, "pools/gpu.yaml", gpuPool("bronze"))
	r.git(t, "update-ref", "refs/remotes/origin/main", "main")
	r.git(t, "checkout", "--quiet", "-b", "change")
	return r
}

// watchedPrograms are those that the scripts start and that do more than copy text.
var watchedPrograms = []string{"awk", "curl", "git", "nodepools"}

// watch makes a folder with programs that write down what they were called with
// and what is in their environment. Git does BEFORE_PUSH before it pushes.
func watch(t *testing.T, seen string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range watchedPrograms {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("#!/bin/sh\n{ printf '%%s\\n' \"%s $*\"; env; } >>'%s'/%s.$$\n", name, seen, name)
		if name == "git" {
			text += "[ \"$1\" != push ] || eval \"${BEFORE_PUSH-}\"\n"
		}
		text += fmt.Sprintf("exec '%s' \"$@\"\n", program)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// called are the programs that were called since it was last asked: each a line with
// the arguments, and the environment.
func (r *recipe) called(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(r.seen + "/*")
	if err != nil {
		t.Fatal(err)
	}
	calls := make([]string, len(files))
	for i, file := range files {
		call, err := os.ReadFile(file)
		if err := errors.Join(err, os.Remove(file)); err != nil {
			t.Fatal(err)
		}
		calls[i] = string(call)
		r.watched[strings.Fields(calls[i])[0]] = true
	}
	return calls
}

func (r *recipe) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(r.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (r *recipe) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r *recipe) commit(t *testing.T, name, text string) {
	t.Helper()
	r.write(t, name, text)
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message", "change")
}

// git makes the same commits each time, and returns what is printed.
func (r *recipe) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.folder, r.environment()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

func (r *recipe) environment(more ...string) []string {
	const date = "2026-01-02T03:04:05Z"
	return append([]string{
		"PATH=" + r.path, "HOME=" + r.folder, "TMPDIR=" + os.TempDir(), "GORACE=" + hurry,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=" + date,
	}, more...)
}

// ended is how a run of the script ended.
type ended struct {
	code           int
	stdout, stderr string
}

// run runs the script as a job does. Whatever happens, the token stands nowhere.
func (r *recipe) run(t *testing.T, env ...string) ended {
	t.Helper()
	return r.runWith(t, nil, env...)
}

// runWith runs the script with arguments.
func (r *recipe) runWith(t *testing.T, args []string, env ...string) ended {
	t.Helper()
	cmd := exec.Command("sh", append([]string{r.script}, args...)...)
	settings := []string{
		"BASE=refs/remotes/origin/main", "INVENTORY_REV=refs/remotes/origin/inventory", "FORGE=" + r.forge.kind, "API=" + r.forge.URL, "REPOSITORY=acme/pools", "CHANGE=7",
		"TOKEN=" + forgeToken, "LINK=https://ci.example.com/1",
		// What jobs on GitLab have besides, and names that the script itself uses.
		"NODEPOOLS_REVIEW_TOKEN=" + forgeToken, "PUSH_TOKEN=" + forgeToken, "NODEPOOLS_PUSH_TOKEN=" + forgeToken, "secret=", "authorization=",
	}
	if r.forge.kind == "github" {
		settings = append(settings, "BOT="+forgeBot)
	} else {
		settings = append(settings, "REPOSITORY=42", "ANNOTATE=gitlab")
	}
	cmd.Dir, cmd.Env = r.folder, r.environment(append(settings, env...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"standard output": stdout.String(), "standard error": stderr.String(), "what programs see": strings.Join(r.called(t), "\n")} {
		if strings.Contains(text, forgeToken) || strings.Contains(text, "PRIVATE-TOKEN") {
			t.Errorf("the token is in %s:\n%s", what, text)
		}
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (e ended) ends(t *testing.T, code int, says ...string) {
	t.Helper()
	if e.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", e.code, code, e.stdout, e.stderr)
	}
	for _, text := range says {
		if !strings.Contains(e.stderr, text) {
			t.Errorf("standard error lacks %q:\n%s", text, e.stderr)
		}
	}
}

// comment is the one that there is beside those of before, which are as they were.
func (r *recipe) comment(t *testing.T, before []forgeComment) forgeComment {
	t.Helper()
	_, after := r.forge.take()
	if len(after) != len(before)+1 {
		t.Fatalf("there are %d comments, and %d before", len(after), len(before))
	}
	if diff := cmp.Diff(before, after[:len(before)], cmp.AllowUnexported(forgeComment{})); diff != "" {
		t.Errorf("comments that are not the review's have changed (-want +got):\n%s", diff)
	}
	return after[len(before)]
}
