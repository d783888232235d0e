package main

import (
	"regexp"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/wrap"
)

// usageTemplate is the library's, without what no command has, and with lines that fit
// a terminal.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .Aliases}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Available Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

See '{{.CommandPath}} [command] --help' for more about a command.{{end}}
`

// layOutHelp makes the help texts of a command and of those within call the program by
// the name that the user called it by, and fit a terminal with it.
func layOutHelp(command *cobra.Command, name string) {
	command.Long = wrap.Paragraphs(calledBy(name, command.Long))
	command.Example = calledBy(name, command.Example)
	for _, within := range command.Commands() {
		layOutHelp(within, name)
	}
}

var ownCommand = regexp.MustCompile(`\bnodepools (adopt|diff|explain|install|inventory|render|run|status|validate|version)\b`)

func calledBy(name, text string) string { return ownCommand.ReplaceAllString(text, name+" $1") }

// newHelp is cobra's, but for its answer to a command that there is not: there
// it prints the help of the program, as if it had been asked for.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		Long:  "Prints the help of a command, as COMMAND --help does.",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, command := range about.Commands() {
					if command.IsAvailableCommand() {
						names = append(names, command.Name()+"\t"+command.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
