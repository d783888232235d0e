package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/render"
)

// The exit codes. Those of diff are those of kubectl diff: 1 says that there
// are differences, so everything that went wrong is above 1. That a change does
// more than --fail-on allows has a code of its own, as nothing went wrong: what
// was printed is whole.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitExceeded = 3
	// exitReplace is of a process that is to be replaced, and ends where it cannot be.
	exitReplace = 4
)

// outcome is how a command's own work ended. What cobra returns without being an
// outcome is its complaint about the command line.
type outcome struct {
	code int
	err  error // nil where the code says it all
}

func (o *outcome) Error() string {
	if o.err == nil {
		return fmt.Sprintf("exit code %d", o.code)
	}
	return o.err.Error()
}

func (o *outcome) Unwrap() error { return o.err }

// usageError is a command line that the flags alone do not show to be wrong.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// work makes a cobra function of a command's work, which ends with the given
// code when it fails.
func work(failed int, run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if ended := (*outcome)(nil); err == nil || errors.As(err, &ended) || errors.As(err, new(usageError)) {
			return err
		}
		return &outcome{code: failed, err: err}
	}
}

// reportError prints why a command ended and returns its exit code.
func reportError(stderr io.Writer, command string, err error) int {
	ended := (*outcome)(nil)
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, &ended):
		fmt.Fprintf(stderr, "error: %s\nsee '%s --help'\n", sanitize.Message(err.Error()), command)
		return exitUsage
	case ended.err == nil:
		return ended.code
	}
	if problems := (render.Problems)(nil); errors.As(ended.err, &problems) {
		problems.WriteText(stderr)
	}
	fmt.Fprintf(stderr, "error: %s\n", sanitize.Message(ended.err.Error()))
	if remedy := hint.Of(ended.err); remedy != "" {
		fmt.Fprintln(stderr, sanitize.Message(remedy))
	}
	return ended.code
}
