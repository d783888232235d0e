package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// What all verbs have in common, at the end of their help.
const (
	actsBound = `It is shown what waits and what would be let through, and asked before it is
written; --yes does not ask, and is needed where there is no terminal. What is
written counts for just that: where it has changed meanwhile, nothing is written.
Changes go by your own rights: `

	actsExit = `

The exit code is 0 when it was written, 1 when it was not, as nothing waits, as
the answer was no or for an error, and 2 for a wrong command line.`

	poolRights = "to list pools and nodes, and to patch nodepools."
)

func newApprove(std streams) *cobra.Command {
	return actsOn(std, status.Approve, "approve POOL|source/NAME", "Approve what waits for an approval", `Approves what waits for an approval: of a pool the next wave of its rollout, and a
change that is held as it affects too many nodes; of a source the deletion of
pools that its revision lacks, and a revision that is held back.

`+actsBound+poolRights+`
For a source: to get and to patch nodepoolsources.`+actsExit, `  nodepools approve gpu

  # what a source keeps from being deleted, or holds back
  nodepools approve source/platform`)
}

func newResume(std streams) *cobra.Command {
	return actsOn(std, status.Resume, "resume POOL", "Let a pool go on that is paused or halted", `Lets a pool go on that 'nodepools pause' has paused, and a rollout that is paused
or halted. What says so in Git, by the annotation or by spec.rollout.paused, has
to be changed there: the error names the file.

`+actsBound+poolRights+actsExit, `  nodepools resume gpu

  # in a script
  nodepools resume gpu --yes`)
}

func newPause(std streams) *cobra.Command {
	return actsOn(std, status.Pause, "pause POOL", "Have a pool rest", `Has a pool rest: its RuntimeClass, and what it has put on nodes, stay as they are,
but for keys that a stronger pool wants. Its spec still follows Git, and a pool
that is paused is not pruned. 'nodepools resume' ends it.

`+actsBound+poolRights+actsExit, `  nodepools pause gpu`)
}

func newExpedite(std streams) *cobra.Command {
	return actsOn(std, status.Expedite, "expedite POOL", "Let changes pass windows and waves, in an emergency", `Lets the changes that wait in the rollout of a pool follow outside its windows and
waves, without soak and approval, in an emergency. Its budget, a pause and a halt
hold. Changes that wait for the windows of another pool need it there as well.

`+actsBound+poolRights+actsExit, `  nodepools expedite gpu`)
}

func newReconcile(std streams) *cobra.Command {
	return actsOn(std, pollSource, "reconcile source/NAME", "Poll the repository of a source now", `Asks the controller to poll the repository of a source now, whatever its interval
is. A new revision is then taken by the same rules as ever: nothing is asked, as
nothing is let through. Pools and nodes are reconciled without being asked.

Changes go by your own rights: to get and to patch nodepoolsources.`+actsExit, `  nodepools reconcile source/platform`)
}

// actsOn makes the command of a verb.
func actsOn(std streams, verb status.Verb, use, short, long, example string) *cobra.Command {
	o := actOptions{verb: verb, std: std}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: func(_ *cobra.Command, args []string) error { return o.take(args) },
		ValidArgsFunction: complete.OnlyFirst(complete.Found(func(ctx context.Context, _ []string, _ string) []complete.Proposal {
			return o.propose(ctx)
		})),
		RunE: work(exitFailed, func(cmd *cobra.Command, _ []string) error {
			if err := o.cluster.check(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		}),
	}
	if verb != pollSource {
		cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	}
	o.cluster.register(cmd)
	return cmd
}

// pollSource is the verb that is of sources alone.
const pollSource status.Verb = "reconcile"

// sourcePrefix begins the argument that names a source.
const sourcePrefix = "source/"

type actOptions struct {
	verb status.Verb
	std  streams
	// name is that of a source where source is true, and else that of a pool.
	name    string
	source  bool
	yes     bool
	cluster clusterFlags
	// ask asks whether it is meant; nil asks on the terminal.
	ask func(ctx context.Context) error
}

// take takes the one argument.
func (o *actOptions) take(args []string) error {
	expected := map[status.Verb]string{status.Approve: "POOL or source/NAME", pollSource: "source/NAME"}[o.verb]
	if expected == "" {
		expected = "POOL"
	}
	if len(args) > 1 {
		return fmt.Errorf("takes one %s, and was given %d: %s", expected, len(args), strings.Join(args, " "))
	}
	if len(args) == 0 || args[0] == "" || args[0] == sourcePrefix {
		return fmt.Errorf("%s is missing", expected)
	}
	o.name, o.source = strings.CutPrefix(args[0], sourcePrefix)
	o.name = strings.TrimPrefix(o.name, "pool/")
	switch {
	case strings.Contains(o.name, "/"):
		return fmt.Errorf("%q is no %s", args[0], expected)
	case o.source && o.verb != status.Approve && o.verb != pollSource:
		return fmt.Errorf("%s takes a POOL, and was given a source", o.verb)
	case !o.source && o.verb == pollSource:
		return fmt.Errorf("reconcile takes source/NAME, as 'nodepools reconcile source/%s': pools are reconciled without being asked", o.name)
	}
	return nil
}

func (o *actOptions) propose(ctx context.Context) []complete.Proposal {
	var proposals []complete.Proposal
	if o.verb != pollSource {
		proposals = o.cluster.propose(ctx, observe.PoolsPath)
	}
	if o.verb == pollSource || o.verb == status.Approve {
		for _, source := range o.cluster.propose(ctx, observe.SourcesPath) {
			source.Name = sourcePrefix + source.Name
			proposals = append(proposals, source)
		}
	}
	return proposals
}
