package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runMake runs a target of the Makefile in a folder, where the commands that it calls
// only record how: it returns a line for each, with every argument in brackets.
func runMake(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	record := filepath.Join(t.TempDir(), "record")
	for _, name := range []string{"go", "docker", "publish", "bench"} {
		script := "#!/bin/sh\nprintf '" + name + "' >>\"$RECORD\"\nprintf ' [%s]' \"$@\" >>\"$RECORD\"\necho >>\"$RECORD\"\n"
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("make", append([]string{"-C", dir, "--no-print-directory"}, args...)...)
	for _, variable := range cmd.Environ() {
		// Of the make that runs this test, and of its user, nothing has a say.
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "GO", "VERSION", "COMMIT", "IMAGE", "REPOSITORY", "INSECURE":
		default:
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "RECORD="+record,
		"GIT_CONFIG_GLOBAL="+filepath.Join(dir, "bin", "gitconfig"), "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Env = append(cmd.Env, env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	recorded, err := os.ReadFile(record)
	if err != nil {
		t.Fatalf("make %s: %v", strings.Join(args, " "), err)
	}
	return string(recorded)
}

// makeFolder is a folder with the Makefile, and no repository yet.
func makeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"Makefile":   string(makefile),
		".gitignore": "/bin/\n",
		// What a user may have set for large repositories.
		"bin/gitconfig": "[status]\n\tshowUntrackedFiles = no\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// gitIn returns a function that runs git in a folder.
func gitIn(t *testing.T, dir string) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
		}
		return strings.TrimSpace(string(output))
	}
}

// What make builds is called after its commit, and says where it differs from it: also
// where the difference is a file that git does not know, which is compiled as well.
func TestMakeKnowsTheCommit(t *testing.T) {
	dir := makeFolder(t)
	git := gitIn(t, dir)
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := runMake(t, dir, nil, "image"); !strings.Contains(got, " [-version] [dev] [-commit] []\n") {
		t.Errorf("without git, make image runs\n%s", got)
	}
	git("init", "--quiet")
	git("add", "Makefile", ".gitignore")
	git("commit", "--quiet", "--message", "first")
	commit := git("rev-parse", "HEAD")
	expect := func(reason, version, commit string) {
		t.Helper()
		for target, want := range map[string]string{
			"image":        " [-version] [" + version + "] [-commit] [" + commit + "]\n",
			"release":      " [-version] [" + version + "] [-commit] [" + commit + "] ",
			"docker-image": " [VERSION=" + version + "] [--build-arg] [COMMIT=" + commit + "] [-t] [nodepools:" + version + "] ",
			"build":        " [-X main.version=" + version + "] ",
		} {
			if got := runMake(t, dir, nil, target); !strings.Contains(got, want) {
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
	dir := makeFolder(t)
	for args, want := range map[string]string{
		"push IMAGE=registry.example.com/n:v1":            "publish [push] [-image] [registry.example.com/n:v1]\n",
		"push IMAGE=registry.example.com/n:v1 INSECURE=1": "publish [push] [-image] [registry.example.com/n:v1] [-insecure]\n",
		"push IMAGE=registry.example.com/n:v1 INSECURE=0": "publish [push] [-image] [registry.example.com/n:v1]\n",
		"push":                   "publish [push] [-image] []\n",
		"release VERSION=v1.2.3": " [-version] [v1.2.3] ",
		"release":                " [-repository] [ghcr.io/nodepools/nodepools]\n",
		"release REPOSITORY=registry.example.com/n":    " [-repository] [registry.example.com/n]\n",
		"docker-image IMAGE=registry.example.com/n:v1": " [-t] [registry.example.com/n:v1] [.]",
		"bench NODES=7 BENCH=-rows":                    "bench [-nodes] [7] [-pools] [100] [-rows]\n",
	} {
		if got := runMake(t, dir, nil, strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("make %s runs\n%swant %q", args, got, want)
		}
	}
}

// What an environment has for another program takes TLS from no push.
func TestMakePushesWithTLS(t *testing.T) {
	dir := makeFolder(t)
	want := "publish [push] [-image] [registry.example.com/n:v1]\n"
	if got := runMake(t, dir, []string{"INSECURE=1"}, "push", "IMAGE=registry.example.com/n:v1"); !strings.HasSuffix(got, want) {
		t.Errorf("make push runs\n%swant %q", got, want)
	}
}

// Nothing that git or the user names is run: whoever may push a tag would else run
// commands where a release is made.
func TestMakeRunsNoName(t *testing.T) {
	dir := makeFolder(t)
	git := gitIn(t, dir)
	git("init", "--quiet")
	git("add", "Makefile", ".gitignore")
	git("commit", "--quiet", "--message", "first")
	targets := []string{"build", "image", "release", "docker-image", "push"}
	for _, name := range []string{
		`v1';touch${IFS}run;'`,
		`v1";touch${IFS}run;"`,
		`v1$(touch${IFS}run)`,
		"v1`touch${IFS}run`",
		`v1$(shell${IFS}touch${IFS}run)`,
		`v1;touch${IFS}run`,
	} {
		git("tag", name)
		for _, target := range targets {
			if got := runMake(t, dir, nil, target); target != "push" && !strings.Contains(got, name) {
				t.Errorf("make %s of the tag %s runs\n%s", target, name, got)
			}
		}
		git("tag", "--delete", name)
	}
	for _, value := range []string{`v1';touch run;'`, `v1$(shell touch run)`, "v1`touch run`"} {
		for _, name := range []string{"VERSION", "COMMIT", "IMAGE", "REPOSITORY"} {
			for _, target := range targets {
				runMake(t, dir, []string{name + "=" + value}, target)
			}
		}
		if got := runMake(t, dir, []string{"REPOSITORY=" + value}, "release"); !strings.Contains(got, "["+value+"]") {
			t.Errorf("make release with REPOSITORY=%s runs\n%s", value, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("a name was run")
	}
}
