package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// make returns what a target would run.
func dryRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-C", dir, "--dry-run", "--no-print-directory"}, args...)...)
	// Of the make that runs this test, nothing has a say.
	cmd.Env = append(cmd.Environ(), "MAKEFLAGS=", "MAKEOVERRIDES=", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// What make builds is called after its commit, and says where it differs from it: also
// where the difference is a file that git does not know, which is compiled as well.
func TestMakeKnowsTheCommit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
		}
		return strings.TrimSpace(string(output))
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	write("Makefile", string(makefile))
	if got := dryRun(t, dir, "image"); !strings.Contains(got, " -version 'dev' -commit ''") {
		t.Errorf("without git, make image runs\n%s", got)
	}
	git("init", "--quiet")
	git("add", "Makefile")
	git("commit", "--quiet", "--message", "first")
	commit := git("rev-parse", "HEAD")
	expect := func(reason, version, commit string) {
		t.Helper()
		for target, want := range map[string]string{
			"image":        " -version '" + version + "' -commit '" + commit + "'",
			"release":      " -version '" + version + "' -commit '" + commit + "'",
			"docker-image": " --build-arg VERSION=" + version + " --build-arg COMMIT=" + commit + " -t nodepools:" + version + " ",
			"build":        `-X main.version=` + version + `"`,
		} {
			if got := dryRun(t, dir, target); !strings.Contains(got, want) {
				t.Errorf("%s: make %s runs\n%swant%s", reason, target, got, want)
			}
		}
	}
	expect("a commit", commit[:7], commit)
	git("tag", "v1.2.3")
	expect("a tag", "v1.2.3", commit)
	write("unknown.go", "package unknown")
	expect("a file that git does not know", "v1.2.3-dirty", commit+"-dirty")
	git("add", "unknown.go")
	expect("a file that is not committed", "v1.2.3-dirty", commit+"-dirty")
	git("commit", "--quiet", "--message", "second")
	expect("a commit after the tag", "v1.2.3-1-g"+git("rev-parse", "HEAD")[:7], git("rev-parse", "HEAD"))
}

// What is given to make gets to the command.
func TestMakePassesOn(t *testing.T) {
	for args, want := range map[string]string{
		"push IMAGE=registry.example.com/n:v1":            "bin/publish push -image 'registry.example.com/n:v1'\n",
		"push IMAGE=registry.example.com/n:v1 INSECURE=1": "bin/publish push -image 'registry.example.com/n:v1' -insecure\n",
		"push IMAGE=registry.example.com/n:v1 INSECURE=0": "bin/publish push -image 'registry.example.com/n:v1'\n",
		"push":                   "bin/publish push -image ''\n",
		"release VERSION=v1.2.3": " -version 'v1.2.3' ",
		"release REPOSITORY=registry.example.com/n":    " -repository 'registry.example.com/n'\n",
		"docker-image IMAGE=registry.example.com/n:v1": " -t registry.example.com/n:v1 .",
	} {
		if got := dryRun(t, root(t), strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("make %s runs\n%swant %q", args, got, want)
		}
	}
}
