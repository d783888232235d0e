package main

import (
	"archive/tar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// checkRuns runs the program of an image as Kubernetes would: without root, by number,
// with nothing else to be seen.
func checkRuns(t *testing.T, image v1.Image) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("NOT TESTED: a chroot needs root")
		return
	}
	dir := t.TempDir()
	// Folders of tests are closed to other users.
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) { //nolint:usetesting // the folder that all of those are in
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	content := mutate.Extract(image)
	defer content.Close()
	extract(t, tar.NewReader(content), dir)
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		exit int
		says string
	}{
		{"version", 0, "nodepools " + testVersion + "\ncommit    " + testCommit + "\n"},
		{"validate /examples/quickstart", 0, " are valid"},
		{"diff /examples/adopt --inventory /examples/adopt/cluster.inventory", 1, "NodePool"},
		{"render /examples/quickstart --output-file /tmp/classes.yaml", 0, ""},
		{"render /examples/quickstart --output-file /classes.yaml", 1, "permission denied"},
	} {
		cmd := exec.CommandContext(t.Context(), "/usr/local/bin/nodepools", strings.Fields(c.args)...)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		output, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || (cmd.ProcessState.ExitCode() != c.exit) || !strings.Contains(string(output), c.says) {
			t.Errorf("%s (%v):\n%s", c.args, err, output)
		}
	}
}
