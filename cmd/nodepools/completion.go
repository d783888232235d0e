package main

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/sanitize"
)

// completionTimeout bounds all that a completion waits for. Somebody sits before it
// who has pressed a key; a credential plugin alone may take a second.
const completionTimeout = 3 * time.Second

// completionCommand is the name by which kubectl finds what completes the plugin.
const completionCommand = "kubectl_complete-nodepools"

// completionArgs are the arguments of a command line that asks what may come next,
// as the scripts of 'nodepools completion' do, and kubectl by the name of the program;
// nil for any other.
func completionArgs(args []string) []string {
	switch {
	case programName(args[0]) != completionCommand:
		if len(args) > 1 && (args[1] == cobra.ShellCompRequestCmd || args[1] == cobra.ShellCompNoDescRequestCmd) {
			return args[1:]
		}
		return nil
	case len(args) == 1:
		return []string{cobra.ShellCompRequestCmd, ""}
	default:
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
}

// programName is the name of the program's file.
func programName(program string) string {
	return strings.TrimSuffix(filepath.Base(program), ".exe")
}

// shells are those that there is a completion for, and how each is told.
var shells = map[string]string{
	"bash": `Prints a script that completes commands in bash. It needs the package
bash-completion.

  # in this shell
  source <(nodepools completion bash)

  # in each new one: on Linux, then on macOS
  nodepools completion bash > /etc/bash_completion.d/nodepools
  nodepools completion bash \
    > "$(brew --prefix)/etc/bash_completion.d/nodepools"`,
	"fish": `Prints a script that completes commands in fish.

  # in this shell
  nodepools completion fish | source

  # in each new one
  nodepools completion fish > ~/.config/fish/completions/nodepools.fish`,
	"powershell": `Prints a script that completes commands in PowerShell.

  # in this shell; for each new one, write the line into your profile
  nodepools completion powershell | Out-String | Invoke-Expression`,
	"zsh": `Prints a script that completes commands in zsh. Where nothing is completed
yet, ~/.zshrc has to have the line 'autoload -U compinit; compinit' first.

  # in this shell
  source <(nodepools completion zsh)

  # in each new one: on Linux, then on macOS
  nodepools completion zsh > "${fpath[1]}/_nodepools"
  nodepools completion zsh \
    > "$(brew --prefix)/share/zsh/site-functions/_nodepools"`,
}

// describeCompletion says in our words what the library's command does, and makes an
// error of a shell that it does not know, for which the library prints its help.
func describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() != "completion" {
			continue
		}
		command.Short = "Print a script that completes commands in a shell"
		command.Long = `Prints a script that makes a shell complete commands, flags and their values:
also the names of nodes and of NodePoolSources, for which it asks the cluster,
and no longer than ` + completionTimeout.String() + `; contexts of the kubeconfig file; branches and tags.

It is kubectl that completes its plugins. It runs ` + completionCommand + `, which
is this program under another name:

  ln -s "$(command -v kubectl-nodepools)" \
    /usr/local/bin/` + completionCommand
		command.Args = cobra.ArbitraryArgs
		command.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		}
		for _, shell := range command.Commands() {
			shell.Short, shell.Long = "Print the script for "+shell.Name(), shells[shell.Name()]
			shell.Flags().Lookup("no-descriptions").Usage = "leave out what is said of each proposal"
		}
	}
}

// completeFlag says what is proposed for a flag. It panics where there is no such
// flag: call it where the flag is made.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// nothing proposes nothing, not even files.
func nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// fixed proposes values.
func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// files leaves it to the shell to propose files, with these extensions or with any,
// and folders.
func files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// folders leaves it to the shell to propose folders.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// onlyFirst proposes for the first argument alone.
func onlyFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nothing(cmd, args, typed)
		}
		return complete(cmd, args, typed)
	}
}

// poolPath proposes PATH: a folder, or a file of pools.
var poolPath = onlyFirst(files("yaml", "yml"))

// proposal is what may be typed, and what it is, which a shell shows beside it.
type proposal struct{ name, description string }

// unexplained are proposals without a description.
func unexplained(names []string) []proposal {
	all := make([]proposal, len(names))
	for i, name := range names {
		all[i].name = name
	}
	return all
}

// found proposes what is found when it is asked for. Nothing is proposed where it
// cannot be found in time: a shell has no place for an error.
func found(find func(ctx context.Context, args []string, typed string) []proposal) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		// Not everything ends with its context: a credential plugin does not, nor a file
		// that nobody writes. The process ends then.
		all := make(chan []proposal, 1)
		go func() { all <- find(ctx, args, typed) }()
		select {
		case all := <-all:
			return inertProposals(all, typed), cobra.ShellCompDirectiveNoFileComp
		case <-ctx.Done():
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// plainName is what no shell takes for anything but itself.
var plainName = regexp.MustCompile(`^[\pL\pN_./][\pL\pN_./@:=+~-]*$`)

// inertProposals are those that go on from what is typed, sorted, as the library has
// them. What a cluster, a clone or a file of somebody else is called goes onto the
// command line as it is, so names that a shell would read as something else are left out.
func inertProposals(all []proposal, typed string) []string {
	var proposed []string
	for _, p := range all {
		if strings.HasPrefix(p.name, typed) && plainName.MatchString(p.name) && sanitize.Line(p.name) == p.name {
			proposed = append(proposed, cobra.CompletionWithDesc(p.name, p.description))
		}
	}
	slices.Sort(proposed)
	return proposed
}
