package complete

import "github.com/spf13/cobra"

// Plugin is the name by which kubectl finds what completes the plugin.
const Plugin = "kubectl_complete-nodepools"

// Args returns the arguments of a command line that asks what may come next, as the
// scripts of 'nodepools completion' do, and kubectl by the name of the program; nil for
// any other.
func Args(program string, args []string) []string {
	switch {
	case program == Plugin && len(args) == 0:
		return []string{cobra.ShellCompRequestCmd, ""}
	case program == Plugin:
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	case len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd):
		return args
	}
	return nil
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

// Describe says in our words what the library's command 'completion' does. Of a shell that
// it does not know, for which the library prints its help, unknown makes an error.
func Describe(root *cobra.Command, unknown func(cmd *cobra.Command, name string) error) {
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() != "completion" {
			continue
		}
		command.Short = "Print a script that completes commands in a shell"
		command.Long = `Prints a script that makes a shell complete commands, flags and their values:
also the names of nodes and of NodePoolSources, for which it asks the cluster,
and no longer than ` + Timeout.String() + `; contexts of the kubeconfig file; branches and tags.

It is kubectl that completes its plugins. It runs ` + Plugin + `, which
is this program under another name:

  ln -s "$(command -v kubectl-nodepools)" \
    /usr/local/bin/` + Plugin
		command.Args = cobra.ArbitraryArgs
		command.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0])
			}
			return cmd.Help()
		}
		for _, shell := range command.Commands() {
			shell.Short, shell.Long = "Print the script for "+shell.Name(), shells[shell.Name()]
			shell.Flags().Lookup("no-descriptions").Usage = "leave out what is said of each proposal"
		}
	}
}
