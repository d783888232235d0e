package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// atFlag is the moment that windows are asked about; now where it is not said.
type atFlag struct {
	moment time.Time
	given  bool
}

func (f *atFlag) register(cmd *cobra.Command) {
	f.moment = time.Now()
	cmd.Flags().Var(f, "at", "`time` at which windows are evaluated, as in 2026-12-24T12:00:00+01:00 (default: now)")
	complete.Flag(cmd, "at", complete.Nothing)
}

func (f *atFlag) Set(text string) error {
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("must be a date and a time with the offset from UTC, as in 2026-12-24T12:00:00+01:00")
	}
	f.moment, f.given = moment, true
	return nil
}

// words are the moment in a sentence.
func (f *atFlag) words() string {
	if f.given {
		return "at " + f.moment.Format(time.RFC3339)
	}
	return "now"
}

// String is the default in the help; it has none.
func (f *atFlag) String() string { return "" }

func (f *atFlag) Type() string { return "time" }
