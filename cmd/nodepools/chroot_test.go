//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// The program knows the zones where there are no files at all, as in an image that has
// nothing but it.
func TestWindowsInAnEmptyRoot(t *testing.T) {
	cluster.Long(t) // it compiles the program once more, without cgo
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root may change the root folder, so nothing is known of images without zone files")
	}
	root := t.TempDir()
	// As make image compiles it, so that the cache of the compiler serves both.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(root, "nodepools"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	source := "apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\nmetadata: {name: fleet}\nspec: {url: \"https://a/b\", windows: [{schedule: 30 2 * * *, timeZone: Europe/Berlin, duration: 1h}]}\n"
	if err := os.WriteFile(filepath.Join(root, "source.yaml"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 {
		t.Fatalf("the root holds %v (error %v), want the program and the source", entries, err)
	}
	run := exec.CommandContext(t.Context(), "/nodepools", "windows", "/source.yaml", "--at", "2026-03-28T12:00:00Z", "--next", "1")
	run.Dir, run.Env = "/", []string{}
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v on %s\n%s", err, runtime.GOOS, output)
	}
	// The hour from 2:00 to 3:00 is skipped.
	if want := "Sun 2026-03-29 03:00  Sun 2026-03-29 04:00  2026-03-29 01:00"; !strings.Contains(string(output), want) {
		t.Errorf("no line has %q:\n%s", want, output)
	}
}
