package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/preview/dryrun"
	"github.com/nodepools/nodepools/apply/preview/review/form"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

const diffLong = `Prints what 'nodepools run' would change, found by the same code: pools,
RuntimeClasses and nodes, what it would leave alone, and why; and what that does
to the pods that run. Nothing is written. The rights that 'nodepools install
--viewer' gives are enough; without those to pods all else is shown.

There are three comparisons:

  nodepools diff PATH                     files and a cluster
  nodepools diff --base REV [--head REV]  two Git revisions, no cluster
  nodepools diff --source NAME --ref REF  a source at another ref

PATH stands for the whole of a NodePoolSource: pools that the source has in the
cluster and that PATH lacks would be deleted, as far as the source's prune
settings allow. The source is the one of the cluster, or that of --source where
there are several. Where there is none, nothing would be deleted, and the pools
are compared as kubectl apply would bring them. If PATH is a file, other pools
are left out of the comparison.

--base is for pull requests. It reads the clone around PATH, or around the
working directory, and asks neither a cluster nor a server; not even a
kubeconfig file is read. REV is a branch, a tag, a commit or origin/main, also
with ~N and ^N. A name that could be several of these is refused; a full one,
such as refs/remotes/origin/main, is never several. The head is the revision of
--head, or the working tree, also with files that are not tracked or ignored. A
folder that the base lacks has no pools there. PATH, or --path from the root of
the repository, is the folder with the pools.

A base that no source would take, because its pools are not valid for example,
gives way to the cluster of --inventory, or to no pools, so that the change that
repairs it can be reviewed. The review says so.

A review compares commits, with --head HEAD: what git writes into a working tree
is not always what the commit has. A file of a working tree is refused where git
converts it (the attributes ident, filter and working-tree-encoding), leaves it
out, or is configured to ignore it.

--source without PATH fetches from the repository of the source, as the
controller does. REF is a branch or a tag, also written refs/heads/NAME or
refs/tags/NAME, a full commit hash, or a range of versions such as ~1.4.

--inventory names a file that 'nodepools inventory' has written. It stands for
the cluster. With --base it says what becomes of nodes; without it pools and
RuntimeClasses are compared and nothing is known of nodes. Given several times,
the review has a section for each cluster, with the path and the layers of its
source, and first a table of all, the worst on top. A cluster that cannot be
compared hides nothing of the others. The exit code is 2 then, or 3 where the
others already do more than --fail-on allows.

--layer names folders in PATH that are read in order, where clusters differ by
little; without it they are those of the source, of the cluster or of the
inventory. A layer that the base lacks is brought by the change.

--server-side, with a cluster, asks the API server whether it would take each of
the writes, which is sent as a dry run. It takes the rights that the controller
has.

The output is text for a terminal, markdown for the comment on a pull request,
html to look at, or json and yaml for programs, which have everything. What
looks like a secret is masked in all of them.

The exit code is 0 when nothing would change, 1 when something would, and 2 for
an error.`

func newDiff(std streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [PATH]",
		Short: "Show what a change of pools would do",
		Long:  diffLong + "\n\n" + failOnHelp(),
		Example: `  nodepools diff pools/

  # what this branch changes, without a cluster
  nodepools diff --base refs/remotes/origin/main --merge-base \
    --head HEAD pools/

  # what it does to the nodes of the cluster that a nightly job has noted
  nodepools diff --base refs/remotes/origin/main --merge-base \
    --inventory production.yaml

  # what it does to each of two clusters
  nodepools diff --base refs/remotes/origin/main --merge-base \
    --head HEAD --inventory prod-1.yaml --inventory prod-2.yaml

  # what production would do if it followed the tag v2.1.0
  nodepools diff --source production --ref v2.1.0

  # where several sources share the cluster
  nodepools diff pools/ --source team-a --context production`,
		ValidArgsFunction: complete.PoolPath,
		Args:              cobra.ArbitraryArgs, // what has to be there depends on the flags
		RunE: work(exitUsage, func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			if len(args) == 1 {
				o.path = args[0]
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().StringVar(&o.source, "source", "", "`name` of the NodePoolSource to compare as (default: the only one)")
	complete.Flag(cmd, "source", complete.Found(o.proposeSources))
	o.at.register(cmd)
	cmd.Flags().BoolVar(&o.exitZero, "exit-zero", false, "exit with 0 where something would change, too")
	o.failOn.register(cmd)
	o.against.register(cmd)
	o.output.register(cmd)
	o.cluster.register(cmd)
	return cmd
}

type diffOptions struct {
	path, source string
	exitZero     bool
	failOn       failOn
	against      againstFlags
	output       diffOutput
	cluster      clusterFlags
	at           atFlag
}

func (o *diffOptions) check(cmd *cobra.Command, args []string) error {
	if err := o.against.check(cmd, args); err != nil {
		return err
	}
	if err := o.output.check(cmd); err != nil {
		return err
	}
	return o.cluster.check()
}

// run prints the review; a difference is an outcome of its own, and not an error.
func (o *diffOptions) run(ctx context.Context, std streams) error {
	if len(o.against.inventories) > 1 {
		return o.runClusters(ctx, std)
	}
	s, err := o.sides(ctx)
	if err != nil {
		return err
	}
	s.AddWindowNotes(o.at.moment, o.at.words())
	difference, err := s.Difference()
	if err != nil {
		return err
	}
	asked := &dryrun.Result{}
	if o.against.serverSide {
		if asked, err = dryrun.Run(ctx, s.Server.Config(), o.cluster.timeout, s.Before, difference); err != nil {
			return err
		}
		difference.Problems = append(difference.Problems, asked.Refusals...)
	}
	for _, note := range form.Notes(o.output.format, s.Compared, s.Notes) {
		std.note("%s", note)
	}
	reviewed, err := s.Review(difference)
	if err != nil {
		return err
	}
	if err := o.output.write(std.out, reviewed); err != nil {
		return err
	}
	if err := asked.Err(); err != nil {
		return err
	}
	return o.outcome(reviewed)
}

// outcome is how the command ends after all is printed.
func (o *diffOptions) outcome(r countable) error {
	if err := o.failOn.check(r); err != nil {
		return err
	}
	if !r.Empty() && !o.exitZero {
		return &outcome{code: exitFailed}
	}
	return nil
}
