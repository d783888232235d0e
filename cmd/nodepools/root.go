package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// streams are what a command reads from and prints to.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// note prints a line that is no data and no error.
func (s streams) note(format string, args ...any) {
	fmt.Fprintf(s.err, "note: "+format+"\n", args...)
}

// execute runs the command line args, the name of the program first, and
// returns the exit code.
func execute(ctx context.Context, args []string, std streams) int {
	// Whatever a command says beside its output passes through here, in one place:
	// errors, notes and logs have texts of others in them.
	messages := sanitize.NewWriter(std.err)
	std.err = messages
	root := newRoot(displayName(args[0]), std)
	root.SetArgs(args[1:])
	if completion := complete.Args(programName(args[0]), args[1:]); completion != nil {
		root.SetArgs(completion)
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	command, err := root.ExecuteContextC(ctx)
	if command.Name() == "help" {
		command = root // what there is help about, the help of help does not say
	}
	code := reportError(std.err, command.CommandPath(), err)
	if err := messages.Flush(); err != nil && code == exitOK {
		return exitFailed
	}
	return code
}

// displayName is what the user types to call the program. kubectl finds plugins
// by the name of their file, in which it takes an underscore for a dash.
func displayName(program string) string {
	switch programName(program) {
	case "kubectl-nodepools", "kubectl_nodepools", complete.Plugin:
		return "kubectl nodepools"
	default:
		return "nodepools"
	}
}

// programName is the name of the program's file.
func programName(program string) string {
	return strings.TrimSuffix(filepath.Base(program), ".exe")
}

func newRoot(name string, std streams) *cobra.Command {
	printsVersion := false
	root := &cobra.Command{
		Use:         "nodepools",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:       "GitOps for Kubernetes node pools",
		Long: `Keeps the nodes of a Kubernetes cluster as the pools in a Git repository say.

Pools are files of kind NodePool: which nodes are members, and which labels,
annotations and taints they carry. For each pool there is a RuntimeClass, so
that a pod comes to the pool's nodes by runtimeClassName: node-pool-<name>.`,
		Example: `  # check the pools in a folder
  nodepools validate pools/

  # see what they would change in the cluster
  nodepools diff pools/

  # install the controller, from an image of your own
  nodepools install --image registry.example.com/nodepools:v1 \
    | kubectl apply --server-side -f -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if printsVersion {
				return work(exitFailed, func(*cobra.Command, []string) error {
					return printVersion(std, &outputFlags{format: "text", file: standardOutput})
				})(cmd, args)
			}
			return cmd.Help()
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.Flags().BoolVar(&printsVersion, "version", false, "print the version, as 'nodepools version' does")
	root.AddCommand(
		newAdopt(std), newApprove(std), newDiff(std), newDoctor(std), newExplain(std), newExpedite(std),
		newInstall(std), newInventory(std), newPause(std), newReconcile(std), newRender(std), newResume(std),
		newWindows(std), newRun(std), newStatus(std), newUninstall(std), newValidate(std), newVersion(std),
	)
	root.SetHelpCommand(newHelp())
	root.SetUsageTemplate(usageTemplate)
	complete.Describe(root, unknownCommand)
	layOutHelp(root, name)
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q", name)
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		return fmt.Errorf("%w: did you mean %q?", err, similar[0])
	}
	return err
}

// onePath demands the one argument PATH.
var onePath = oneArgument("PATH", "the folder with the pools", "PATH is empty: name the folder with the pools, or . for the current one")

// oneArgument demands one argument of a name, which the error says the meaning of. An
// empty one is as if there were none, unless there is more to say.
func oneArgument(name, meaning, whenEmpty string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return fmt.Errorf("takes one %s, and was given %d: %s", name, len(args), strings.Join(args, " "))
		case len(args) == 1 && args[0] == "" && whenEmpty != "":
			return errors.New(whenEmpty)
		case len(args) == 0 || args[0] == "":
			return fmt.Errorf("%s is missing: %s", name, meaning)
		}
		return nil
	}
}

// noArguments refuses arguments in the words of the other errors.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("takes no argument, and was given %q", args[0])
	}
	return nil
}
