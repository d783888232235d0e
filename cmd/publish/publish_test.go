package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// The commit and the date of what the tests build, whatever is checked out.
const (
	testVersion = "v0.0.1-rc.1"
	testCommit  = "0123456789abcdef0123456789abcdef01234567"
	testDate    = "1767323045" // 2026-01-02T03:04:05Z
	testCreated = "2026-01-02T03:04:05Z"
)

// scratch is the folder of what is built once for all tests.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "publish-test-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(scratch) }() // what is left lies among temporary files
		return m.Run()
	}())
}

// root of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// publishProgram is this command as make runs it: only a program that is not a test
// knows the modules that it is made of.
var publishProgram = sync.OnceValues(func() (string, error) {
	file := filepath.Join(scratch, "publish")
	output, err := exec.Command("go", "build", "-buildvcs=false", "-o", file, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return file, nil
})

// publish runs the command, and returns what it prints for programs.
func publish(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out, log, err := tryPublish(t, dir, env, args...)
	if err != nil {
		t.Fatalf("publish %s: %v\n%s", strings.Join(args, " "), err, log)
	}
	return out
}

func tryPublish(t *testing.T, dir string, env []string, args ...string) (out, log string, err error) {
	t.Helper()
	program, err := publishProgram()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(cmd.Environ(), append([]string{
		"SOURCE_DATE_EPOCH=" + testDate,
		"GIT_DIR=" + filepath.Join(scratch, "no-clone"), // the commit of the tests is not the one that is checked out
	}, env...)...)
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// builtImage is a layout in a folder, and what was printed of it.
type builtImage struct {
	dir, digest string
}

// theImage is built once, in the folder of the repository.
func theImage(t *testing.T) builtImage {
	t.Helper()
	imageOnce.Do(func() {
		dir := filepath.Join(scratch, "image")
		out := publish(t, root(t), nil, "image", "-version", testVersion, "-commit", testCommit, "-output", dir)
		shared = builtImage{dir, strings.TrimSpace(out)}
	})
	if shared.dir == "" {
		t.Fatal("the image could not be built")
	}
	return shared
}

var (
	imageOnce sync.Once
	shared    builtImage
)

func (b builtImage) path(t *testing.T) layout.Path {
	t.Helper()
	path, err := layout.FromPath(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// copySource copies what the Dockerfile copies, and the license: the source as it comes
// without its history.
func copySource(t *testing.T, to string) {
	t.Helper()
	for _, name := range []string{"api", "apply", "charts", "cmd", "render", "source"} {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(root(t), name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
