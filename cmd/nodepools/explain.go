package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newExplain(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Show who owns everything on a node",
		Long: `Shows who owns everything on an object of the cluster, and why. There is one
kind to explain: 'nodepools explain node NAME'.`,
		Example: `  nodepools explain node gpu-1`,
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return unknownKind(args) },
	}
	cmd.AddCommand(newExplainNode(std))
	return cmd
}

// unknownKind says how the command is to be called.
func unknownKind(args []string) error {
	const known = "'nodepools explain node NAME' is what there is"
	switch {
	case len(args) == 0:
		return errors.New("what to explain is missing: " + known)
	case strings.HasPrefix(args[0], "node/"), strings.HasPrefix(args[0], "nodes/"):
		_, name, _ := strings.Cut(args[0], "/")
		return fmt.Errorf("kind and name are two words: nodepools explain node %s", name)
	default:
		return fmt.Errorf("cannot explain %q: %s", args[0], known)
	}
}
