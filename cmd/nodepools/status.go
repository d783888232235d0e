package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

const statusLong = `Shows how far nodes are in following their pools. First of each source its
phase, its revision and the reason, and what to do where it does not go on by
itself; then of each pool its phase, how many nodes are up to date, and what the
others wait for; those that need a person first. Of the pool that is named also
its waves, since when it waits, its next window, and the command to go on: to
approve the next wave, to resume what is paused, or was halted. Nothing is
written; the right to list nodepools is enough, that to list nodepoolsources
shows sources, that to list nodes shows waves, and that to list pods and
runtimeclasses shows stranded pods: pods without a node that no node takes,
because they were created before the RuntimeClass of their pool changed, and the
command after which their owners create them anew.

With --watch it is shown again whenever something has changed, until all nodes
have followed the newest revisions, or a pool is halted, or a source or a pool
is stalled. Where the output is no terminal, that is a line for each change of
one.

A phase is Halted, Stalled, Approval (a wave waits for one), Paused, Unknown (no
controller has reported), Progressing, Waiting (for a window, a soak, a turn or
another source), Deleting, Empty or Complete. A source that is blocked is
Stalled, and one that is suspended Paused. In a bar, █ is a node that has
followed, ▒ one of them that is not ready since, and ░ one that waits.

-o yaml and -o json print the same, in fields that stay: sources (name, phase,
reason, message, condition, since, revision, attempted, pools, steps) and pools
(name, phase, reason, message, condition, since, revision, waitsFor, nodes,
nextWindow, halt, podsStranded, waves and steps, which have purpose and command).

The exit code is 0 when the status was shown, and with --watch when all nodes
have followed; 1 when a pool that is shown is halted, or a source or a pool that
is shown is stalled; 2 when the cluster could not be read or the command line is
wrong.`

func newStatus(std streams) *cobra.Command {
	o := statusOptions{now: time.Now, period: watchPeriod}
	cmd := &cobra.Command{
		Use:   "status [POOL]",
		Short: "Show how far nodes are in following their pools",
		Long:  statusLong,
		Example: `  nodepools status

  # one pool with its waves, until all nodes have followed
  nodepools status gpu --watch

  # pools that wait for an approval, for a script
  nodepools status -o json \
    | jq '.pools[] | select(.phase == "Approval") | .steps[].command'`,
		Args: atMostOnePool,
		ValidArgsFunction: complete.OnlyFirst(complete.Found(func(ctx context.Context, _ []string, _ string) []complete.Proposal {
			return o.cluster.propose(ctx, observe.PoolsPath)
		})),
		RunE: work(exitUsage, func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.pool = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show it again whenever something changes, until all nodes have followed")
	o.output.register(cmd, "text", "json", "yaml")
	o.cluster.register(cmd)
	return cmd
}

// atMostOnePool refuses more than one argument, and an empty one.
func atMostOnePool(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("takes one POOL, and was given %d: %s", len(args), strings.Join(args, " "))
	case len(args) == 1 && args[0] == "":
		return fmt.Errorf("POOL is empty: name a pool, or none for all of them")
	}
	return nil
}

type statusOptions struct {
	pool    string
	watch   bool
	output  outputFlags
	cluster clusterFlags

	now    func() time.Time
	period time.Duration
	// noted is what was said already beside the output.
	noted string
}

func (o *statusOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	if o.watch && (o.output.format != "text" || o.output.file != standardOutput) {
		return usagef("--watch prints text to standard output: it takes neither -o json or yaml nor --output-file")
	}
	return o.cluster.check()
}

// run prints the status once, or again and again. That a source or a pool is stalled, or a
// pool halted, is an exit code, and no error.
func (o *statusOptions) run(ctx context.Context, std streams) error {
	server, err := o.cluster.server()
	if err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, std, server.Progress)
	}
	report, err := o.read(ctx, std, server.Progress)
	if err != nil {
		return err
	}
	err = o.output.writeDocument(std.out, report, func(w io.Writer) error {
		return o.writeText(w, report, o.output.file == standardOutput && takesColor(std.out))
	})
	if err != nil {
		return err
	}
	return statusOutcome(report)
}

// statusOutcome is the outcome of a report that was printed.
func statusOutcome(report *status.Report) error {
	if report.Failed() {
		return &outcome{code: exitFailed}
	}
	return nil
}

func (o *statusOptions) writeText(w io.Writer, report *status.Report, color bool) error {
	if len(report.Pools)+len(report.Sources) == 0 {
		return nil
	}
	return report.WriteText(w, status.Form{Color: color, Detail: o.pool != ""})
}

// progressReader reads a cluster.
type progressReader func(ctx context.Context) (*observe.Progress, error)

// read reads the cluster, and reports of the pool that is named, or of all.
func (o *statusOptions) read(ctx context.Context, std streams, read progressReader) (*status.Report, error) {
	progress, err := read(ctx)
	if err != nil {
		return nil, err
	}
	cluster := status.Cluster{Sources: progress.Sources, Pools: progress.Pools, Waiting: progress.Waiting, Classes: progress.Classes, Nodes: make([]status.Node, len(progress.Nodes))}
	for i, node := range progress.Nodes {
		cluster.Nodes[i] = status.Node(node)
	}
	if progress.SourcesUnread != nil {
		o.note(std, "sources are not shown, as this user may not list nodepoolsources")
	}
	switch {
	case progress.NodesUnread != nil:
		o.note(std, "waves are not shown, as this user may not list nodes")
	case progress.PodsUnread != nil:
		o.note(std, "stranded pods are not shown, as this user may not list pods and runtimeclasses")
	case len(progress.Pools) == 0:
		o.note(std, "there is no pool in the cluster")
	}
	report := status.Of(cluster, o.now())
	if o.pool == "" {
		return report, nil
	}
	if only, found := report.Only(o.pool); found {
		return only, nil
	}
	missing := progress.NoPool(o.pool)
	if len(missing.Near) == 0 {
		return nil, hint.Add(missing, "'"+command.ListPools()+"' lists those that there are")
	}
	return nil, hint.Add(missing, "did you mean "+strings.Join(missing.Near, ", ")+"?")
}

// note prints a note once.
func (o *statusOptions) note(std streams, text string) {
	if o.noted != text {
		o.noted = text
		std.note("%s", text)
	}
}
