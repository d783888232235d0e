package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const releasedMod = `module k8s.io/kubernetes

go 1.24.0

godebug default=go1.24

require (
	example.com/library v1.2.3
	k8s.io/api v0.0.0
	k8s.io/kubectl v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubectl => ./staging/src/k8s.io/kubectl
)
`

// releasedAs puts a go tool into PATH which has a go.mod and a go.sum as those of
// k8s.io/kubernetes, in any version, builds scripts and does all else as the real one. The
// log that it returns has a line per build: the folder, and the arguments.
func releasedAs(t *testing.T, mod string) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir, source := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": mod, "go.sum": "example.com/library v1.2.3 h1:x\n"} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf(`#!/bin/sh
case "$1 $2" in
"mod download") echo '{"Dir": "%s"}' ;;
build*)
	echo "$PWD $GOFLAGS $@" >>%s
	[ "$5" ] && printf '#!/bin/sh\necho built\n' >"$5" && chmod +x "$5" && cp go.mod %s ;;
*) exec %s "$@" ;;
esac
`, source, log, dir, tool)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return log
}

// An earlier version is built with its own go.mod and go.sum, and with the parts that were
// released with it.
func TestWriteModule(t *testing.T) {
	releasedAs(t, releasedMod)
	dir := filepath.Join(t.TempDir(), "module")
	if err := writeModule(t.Context(), dir, "v1.33.13"); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for want, reason := range map[string]string{
		"module nodepools.invalid/controlplane\n": "it cannot require itself",
		"go 1.24.0\n":                                 "the language is that of the release",
		"godebug default=go1.24\n":                    "and so is what the Go library does by default",
		"example.com/library v1.2.3\n":                "libraries are those of the release",
		"k8s.io/kubernetes v1.33.13\n":                "this is what is built",
		"k8s.io/api => k8s.io/api v0.33.13\n":         "a part of the same release",
		"k8s.io/kubectl => k8s.io/kubectl v0.33.13\n": "and another",
	} {
		if !strings.Contains(string(mod), want) {
			t.Errorf("%s: no %q in\n%s", reason, want, mod)
		}
	}
	if strings.Contains(string(mod), staging) {
		t.Errorf("a part is looked for in a folder that there is not:\n%s", mod)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil || !strings.HasPrefix(string(sums), "example.com/library v1.2.3 h1:") {
		t.Errorf("go.sum is %q (%v), want that of the release", sums, err)
	}
}

func TestWriteModuleOfWhatIsNoRelease(t *testing.T) {
	for name, tc := range map[string]struct{ reason, mod, want string }{
		"no parts":       {"something else is published under this name", "module k8s.io/kubernetes\n\ngo 1.24.0\n", "no part below ./staging/src/"},
		"another folder": {"a folder is not published", strings.ReplaceAll(releasedMod, "./staging/src/k8s.io/api\n", "./third_party/api\n"), "k8s.io/api in ./third_party/api"},
		"not a go.mod":   {"the go tool says what is wrong", "<html>", "go mod edit"},
	} {
		t.Run(name, func(t *testing.T) {
			releasedAs(t, tc.mod)
			err := writeModule(t.Context(), filepath.Join(t.TempDir(), "module"), "v1.33.13")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: the error is %v, want %q in it", tc.reason, err, tc.want)
			}
		})
	}
}

// Why a module cannot be had is said in the words of the go tool.
func TestModuleThatIsNotThere(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	err := writeModule(t.Context(), filepath.Join(t.TempDir(), "module"), "v1.33.13")
	if err == nil || !strings.Contains(err.Error(), "GOPROXY=off") {
		t.Errorf("the error is %v", err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := writeModule(ctx, filepath.Join(t.TempDir(), "module"), "v1.33.13"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted, the error is %v", err)
	}
}

// The programs of an earlier version are built in its module, into a folder of their own,
// which shares kubectl, etcd and kwok with the version of go.mod.
func TestEarlierVersionIsBuilt(t *testing.T) {
	log := releasedAs(t, releasedMod)
	root := t.TempDir()
	all, key, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(root, key)
	if err := os.Mkdir(newest, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		touch(t, filepath.Join(newest, c.name))
	}
	var dir string
	for range 2 { // the second time there is nothing to do
		if dir, err = (wanted{build: true}).bring(t.Context(), root, "v1.33.13", ""); err != nil {
			t.Fatal(err)
		}
	}
	if dir == newest || filepath.Dir(dir) != root {
		t.Errorf("the folder is %s", dir)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 3 {
		t.Errorf("%d builds, want the 3 programs of Kubernetes that serve, once:\n%s", n, text)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, filepath.Join(dir, ".building", generated)+" -trimpath -mod=mod build ") || !strings.Contains(line, "gitVersion=v1.33.13 ") {
			t.Errorf("built as %s", line)
		}
	}
	for _, c := range all {
		target, err := os.Readlink(filepath.Join(dir, c.name))
		if shared := !c.released || c.name == "kubectl"; shared != (err == nil) || shared && target != filepath.Join(newest, c.name) {
			t.Errorf("%s is a link to %q (%v)", c.name, target, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".building")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder to work in stays: %v", err)
	}
}
