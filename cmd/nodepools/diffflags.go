package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// againstFlags say what is compared with what.
type againstFlags struct {
	// base and head are revisions of the repository around the working directory;
	// no base is a comparison with a cluster, and no head is the working tree.
	base, head string
	mergeBase  bool
	// folder of the repository that is compared; empty where it is not said.
	folder string
	// layers of the folder; empty for those of the source.
	layers layers
	// inventories are files that stand for clusters; none is the cluster itself.
	inventories []string
	// ref of a source's repository.
	ref string
	// login is for the repository of a source.
	login loginFlags
	// serverSide asks the API server about every write.
	serverSide bool
}

func (f *againstFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "compare with this `revision` of the Git repository, and with no cluster")
	flags.StringVar(&f.head, "head", "", "`revision` that is compared with --base (default: the working tree)")
	flags.BoolVar(&f.mergeBase, "merge-base", false, "compare with the merge base of --base and the head")
	flags.StringVar(&f.folder, "path", "", "`folder` of the repository, from its root, in place of PATH (default: that of the source)")
	f.layers.register(cmd, "`folder` in PATH that is read, and changes what those before it say; repeat it for each (default: those of the source, or all of PATH)")
	flags.StringArrayVar(&f.inventories, "inventory", nil, "compare with the cluster in this `file`, and ask none; repeat it for each cluster")
	flags.StringVar(&f.ref, "ref", "", "`ref` that --source would follow: branch, tag, commit or range of versions (default: its own)")
	f.login.register(cmd)
	flags.BoolVar(&f.serverSide, "server-side", false, "ask the API server about every write, as a dry run; takes the right to write")
	complete.Flag(cmd, "base", complete.Revision)
	complete.Flag(cmd, "head", complete.Revision)
	complete.Flag(cmd, "path", complete.RepositoryFolder)
	complete.Flag(cmd, "inventory", complete.Files("json", "yaml", "yml"))
	complete.Flag(cmd, "ref", complete.Ref)
}

// check refuses flags that do not fit together, in an order that is always the
// same.
func (f *againstFlags) check(cmd *cobra.Command, args []string) error {
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	// An empty variable in a script must not make another comparison of it.
	if err := refuseEmpty(cmd, "base", "head", "path", "ref", "source", "credential-file", "marker"); err != nil {
		return err
	}
	if slices.Contains(f.inventories, "") {
		return empty("inventory")
	}
	path, source := len(args) == 1, given("source")
	switch {
	case len(args) > 1 || path && args[0] == "":
		return onePath(cmd, args)
	case !path && !given("base") && !source:
		return usagef("PATH is missing: the folder with the pools; --base compares revisions, and --source with --ref what a source would do")
	case given("ref") && given("base"):
		return excluding("--ref", "--base", "it is of the repository of a source; name the revisions with --base and --head")
	case given("ref") && path:
		return excluding("--ref", "PATH", "the pools come from the repository of the source, or from PATH")
	case given("ref") && !source:
		return usagef("--ref requires --source: it is a ref of the repository of that source")
	case given("path") && path:
		return excluding("--path", "PATH", "both name the folder")
	}
	for _, flag := range []string{"head", "merge-base", "path"} {
		if given(flag) && !given("base") {
			return usagef("--%s requires --base, the revision to compare with", flag)
		}
	}
	if err := f.layers.check(); err != nil {
		return err
	}
	if err := f.login.check(given, path || given("base")); err != nil {
		return err
	}
	live := []string{"kubeconfig", "context", "timeout", "server-side"}
	for _, flag := range live {
		switch {
		case given(flag) && given("base"):
			return excluding("--"+flag, "--base", "revisions are compared without a cluster; --inventory names a file that stands for one")
		case given(flag) && given("inventory") && !(flag == "timeout" && !path):
			return excluding("--"+flag, "--inventory", "the file stands for the cluster, and none is asked")
		}
	}
	return nil
}
