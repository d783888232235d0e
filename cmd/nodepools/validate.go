package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newValidate(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "validate PATH",
		Short: "Check pool files",
		Long: `Checks the pools in a folder, or in one file, as the controller checks a
revision before it takes it. Every problem is told at once, with its file and
line. No cluster is needed.

A pool that nodes can join or leave by themselves is valid, and gets a warning:
its selector names a label that a kubelet may set on its own node. Where a pool
is there for security, choose its members by labels under
node-restriction.kubernetes.io/, by the role label or by nodeNames.

What is found goes to standard error, and nothing to standard output. The exit
code is 0 when all is valid, 1 when something is not or PATH holds no pool, and
2 for a wrong command line.`,
		Example: `  nodepools validate pools/

  # before each commit
  hook=.git/hooks/pre-commit
  printf '%s\n' '#!/bin/sh' 'nodepools validate pools/' >> $hook
  chmod +x $hook`,
		Args: onePath,
		RunE: work(exitFailed, func(_ *cobra.Command, args []string) error {
			return validateOptions{path: args[0]}.run(std)
		}),
	}
}

type validateOptions struct {
	path string
}

func (o validateOptions) run(std streams) error {
	files, err := loadPools(o.path)
	if err != nil {
		return err
	}
	if len(files.definitions) == 0 {
		return files.noPools()
	}
	named := map[string]bool{}
	for _, definition := range files.definitions {
		named[definition.File] = true
	}
	pools, verb := count(len(files.definitions), "pool"), "are"
	if len(files.definitions) == 1 {
		verb = "is"
	}
	for _, warning := range files.warnings() {
		fmt.Fprintln(std.err, warning)
	}
	_, err = fmt.Fprintf(std.err, "%s in %s %s valid\n", pools, count(len(named), "file"), verb)
	return err
}
