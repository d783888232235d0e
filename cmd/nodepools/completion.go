package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

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

// shells are those that there is a completion for, and how each is set up.
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
and no longer than ` + complete.Timeout.String() + `; contexts of the kubeconfig file; branches and tags.

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
