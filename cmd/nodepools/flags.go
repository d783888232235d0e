package main

import "github.com/spf13/cobra"

// refuseEmpty refuses flags that are given and empty: an empty variable in a script must
// not do something else.
func refuseEmpty(cmd *cobra.Command, flags ...string) error {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) && cmd.Flags().Lookup(flag).Value.String() == "" {
			return empty(flag)
		}
	}
	return nil
}

func empty(flag string) error {
	return usagef("--%s is empty: give it a value, or leave it out", flag)
}

func excluding(one, other, why string) error {
	return usagef("%s and %s exclude each other: %s", one, other, why)
}
