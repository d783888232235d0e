package main

import (
	"flag"
	"net"
	"os"
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
	testscript.Main(tests{m}, map[string]func(){
		"nodepools":         main,
		"kubectl-nodepools": main,
		"kubectl_nodepools": main,
		complete.Plugin:     main,
	})
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
