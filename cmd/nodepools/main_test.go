package main

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts that expect something else")

// TestMain makes the test binary stand for the program itself, under each of its
// names, when a script runs it.
func TestMain(m *testing.M) {
	if err := os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" "+hurry)); err != nil {
		panic(err) // the name has no character that is refused
	}
	commands := map[string]func(){}
	for _, name := range programNames {
		commands[name] = main
	}
	testscript.Main(tests{m}, commands)
}

var programNames = []string{"nodepools", "kubectl-nodepools", "kubectl_nodepools", complete.Plugin}

// shippedProgram is a folder with the program as users get it, without the race detector,
// under each of its names. Hundreds of commands take half the time with it. What runs at
// once in a command has tests of its own, which run it with the detector.
func shippedProgram(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	// As make build compiles it, so that the cache of the compiler serves both.
	if output, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(folder, programNames[0]), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, name := range programNames[1:] {
		if err := os.Symlink(programNames[0], filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestScripts are the commands that need no cluster. At $SILENT somebody listens
// and never answers.
func TestScripts(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			hasten(env)
			env.Setenv("SILENT", silent.Addr().String())
			return nil
		},
	})
}

// hurry takes away the second for which a program with the race detector waits before
// it exits. That a race was found shows in the exit code all the same. What is run as
// nodepools by tests takes it from the environment.
const hurry = "atexit_sleep_ms=0"

// hasten is for scripts, whose environment is their own.
func hasten(env *testscript.Env) { env.Setenv("GORACE", hurry) }
