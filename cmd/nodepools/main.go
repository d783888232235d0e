// Nodepools keeps the nodes of a Kubernetes cluster as the pools in a Git
// repository say. One binary is both the controller (nodepools run) and the
// command line (diff, explain, render, validate, install, version); under the
// name kubectl-nodepools it is the kubectl plugin, and under kubectl_complete-nodepools
// it completes the plugin's command line.
//
// Start with [newRoot], which lists the commands. Each command has its file:
// the options, a constructor that reads them from flags, and a run method that
// does the work and can be tested without a command line.
//
// The rules of output: data goes to standard output, everything else to
// standard error. A command that fails says what failed in one line that begins
// in lower case, and in a second one what to do about it, where there is
// something to do. The exit codes are in exit.go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	_ "time/tzdata" // an image has no zone files

	"github.com/nodepools/nodepools/apply/daemon"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

func main() {
	if complete.Args(programName(os.Args[0]), os.Args[1:]) != nil {
		silence()
	}
	log.SetOutput(standardLog{os.Stderr})
	std := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	code := execute(context.Background(), os.Args, std)
	if code == exitReplace {
		fmt.Fprintf(os.Stderr, "Error: the process cannot be replaced: %v\n", daemon.Replace())
	}
	os.Exit(code)
}

// silence drops what anything says beside its output, libraries and credential plugins
// included: while a command line is being typed there is no place for it.
func silence() {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
}
