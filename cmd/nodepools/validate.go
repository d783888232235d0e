package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/table"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/folder"
	"github.com/nodepools/nodepools/render/report"
	"github.com/nodepools/nodepools/source/local"
)

const validateLong = `Checks the pools in a folder, or in one file, as the controller checks a
revision before it takes it. Every problem is reported at once, with its file and
line. No cluster is needed.

In a working tree of Git, a file is refused where a commit of it would hold
other bytes than these: where git converts it (the attributes ident, filter and
working-tree-encoding), or is configured to ignore it. --revision reads the files
of a commit instead, as a source does, and nothing from disk: use it in reviews.

Where clusters take the folders of PATH in layers, each cluster is checked by
itself: --layer names its folders in order, as spec.layers of its source does.
--inventory names a file that 'nodepools inventory' has written, and stands for
the layers of its source; repeat it for each cluster.

A pool that nodes can join or leave by themselves is valid, and gets a warning:
its selector names a label that a kubelet may set on its own node. Where it is
meant, the entry that the warning names acknowledges it, in the annotation
nodes.lailin.xyz/acknowledgeSelfJoin. So does a part of a rollout that has no
effect. Each warning names the section of docs/pools.md that says more.

What is found goes to standard error, and nothing to standard output. With
--output, a document with all of it goes to standard output instead, also where
nothing is found, and one line with the count to standard error:

  json    apiVersion validate.nodes.lailin.xyz/v1, kind Validation: path, valid,
          pools (their number), and problems, each with severity (error or
          warning), rule, file, line, column (in characters), pool, message and
          hint. Both count from 1. What does not apply is left out: a problem
          with a whole file has no line. Fields may come, and none goes.
  yaml    the same
  github  annotations of a pull request, as workflow commands of GitHub Actions
  gitlab  a code quality report, an artifact of GitLab CI
  sarif   SARIF 2.1.0, for code scanning

In the last three, file names are relative to the root of the repository, that
is, the nearest folder around PATH that has a .git, or else $GITHUB_WORKSPACE.
In json and yaml they are as one would open them from here. The rules are:

%s
The exit code is 0 when all is valid, 1 when something is not or PATH holds no
pool, and 2 for a wrong command line.`

func newValidate(std streams) *cobra.Command {
	o := validateOptions{version: builtFrom().Version}
	cmd := &cobra.Command{
		Use:   "validate PATH",
		Short: "Check pool files",
		Long:  fmt.Sprintf(validateLong, ruleList()),
		Example: `  nodepools validate pools/

  # annotate a pull request, in a step of GitHub Actions
  nodepools validate pools/ --revision HEAD -o github

  # as the cluster prod-1 takes them
  nodepools validate pools/ --layer base --layer clusters/prod-1

  # before each commit
  hook=.git/hooks/pre-commit
  printf '%s\n' '#!/bin/sh' 'nodepools validate pools/' >> $hook
  chmod +x $hook`,
		Args:              onePath,
		ValidArgsFunction: complete.PoolPath,
		RunE: work(exitFailed, func(cmd *cobra.Command, args []string) error {
			o.path = args[0]
			if err := refuseEmpty(cmd, "revision"); err != nil {
				return err
			}
			if err := o.layers.check(); err != nil {
				return err
			}
			if err := o.clusters.check(cmd); err != nil {
				return err
			}
			if err := o.output.check(); err != nil {
				return err
			}
			if o.output.format == "text" && o.output.file != standardOutput {
				return usagef("--output-file requires another --output than text, which goes to standard error")
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().StringVar(&o.revision, "revision", "", "check what PATH has in this `revision` of the Git repository, and not the files on disk")
	complete.Flag(cmd, "revision", complete.Revision)
	o.layers.register(cmd, "`folder` in PATH that is read, and changes what those before it say; repeat it for each (default: all of PATH)")
	o.clusters.register(cmd)
	o.output.register(cmd, append([]string{"text"}, report.Formats()...)...)
	return cmd
}

type validateOptions struct {
	path, revision string
	layers         layers
	clusters       layersOfClusters
	output         outputFlags
	version        string
}

// load reads the pools, as each of the clusters reads them.
func (o validateOptions) load(ctx context.Context) (*folder.Pools, error) {
	if len(o.clusters.inventories) == 0 {
		return o.loadLayers(ctx, o.layers)
	}
	all, err := o.clusters.find()
	if err != nil {
		return nil, err
	}
	var loaded folder.Union
	for _, layers := range all {
		if err := loaded.Add(o.loadLayers(ctx, layers)); err != nil {
			return nil, err
		}
	}
	return loaded.Pools()
}

func (o validateOptions) loadLayers(ctx context.Context, layers []string) (*folder.Pools, error) {
	if o.revision != "" {
		return folder.LoadRevision(ctx, o.path, o.revision, layers...)
	}
	return loadPools(o.path, layers...)
}

func (o validateOptions) run(ctx context.Context, std streams) error {
	files, err := o.load(ctx)
	if err == nil && len(files.Definitions) == 0 {
		err = files.EmptyError()
	}
	if o.output.format != "text" {
		document, failed := o.report(files, err).Document(o.output.format, local.FromRoot, o.version)
		if failed == nil {
			failed = o.output.write(std.out, document)
		}
		if failed != nil {
			return failed
		}
		return verdict(std.err, files, countOnly(err))
	}
	if err == nil {
		for _, warning := range files.Warnings() {
			fmt.Fprintln(std.err, warning)
		}
	}
	return verdict(std.err, files, err)
}

// report returns what is found in files that were loaded, or why they were not.
func (o validateOptions) report(files *folder.Pools, err error) *report.Report {
	if err != nil {
		return report.Refused(o.path, err, hint.Of(err))
	}
	return report.Accepted(o.path, len(files.Definitions), files.Warnings())
}

// ruleList lists the rules for a help text.
func ruleList() string {
	var rows [][]string
	for _, rule := range report.Rules() {
		rows = append(rows, []string{string(rule.ID), rule.Description})
	}
	var list strings.Builder
	table.Text{Columns: make([]table.Column, 2), Indent: "  ", Gap: "  "}.Write(&list, rows)
	return list.String()
}

// verdict prints how many pools are valid, where all are.
func verdict(w io.Writer, files *folder.Pools, err error) error {
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, definition := range files.Definitions {
		named[definition.File] = true
	}
	pools, verb := review.Count(len(files.Definitions), "pool"), "are"
	if len(files.Definitions) == 1 {
		verb = "is"
	}
	_, err = fmt.Fprintf(w, "%s in %s %s valid\n", pools, review.Count(len(named), "file"), verb)
	return err
}

// countOnly returns the error without the list of its problems, which is in the
// document.
func countOnly(err error) error {
	if invalid := (*render.InvalidError)(nil); errors.As(err, &invalid) {
		return errors.New(invalid.Error())
	}
	return err
}
