package main

import (
	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/preview/login"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// loginFlags say how to log in at the repository of a source.
type loginFlags struct{ login.Options }

func (f *loginFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Folder, "credential-file", "", "`folder` with the credential for the repository of --source: the keys of its Secret as files, and url-prefix")
	flags.BoolVar(&f.Agent, "ssh-agent", false, "log in at the repository of --source with the keys of your ssh agent, where ssh knows the server already")
	flags.BoolVar(&f.Helper, "credential-helper", false, "log in at the repository of --source, by https, with what git's credential helper knows")
	complete.Flag(cmd, "credential-file", complete.Folders)
}

// check refuses several logins, and one for pools that no source brings.
func (f *loginFlags) check(given func(flag string) bool, withoutSource bool) error {
	var first string
	for _, flag := range []string{"credential-file", "ssh-agent", "credential-helper"} {
		switch {
		case !given(flag):
		case withoutSource:
			return usagef("--%s requires --source without PATH and --base: it is for the repository of that source", flag)
		case first != "":
			return excluding("--"+first, "--"+flag, "each is a login of its own")
		default:
			first = flag
		}
	}
	return nil
}
