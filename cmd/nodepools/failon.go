package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// failOn is the flag --fail-on: from where on what a change does is too much. It
// may be given several times, and all that it says holds.
type failOn struct{ thresholds []review.Threshold }

// failOnHelp is what the help of a command with the flag says of it.
func failOnHelp() string {
	return `With --fail-on, the exit code is 3 where the change does more than that, also
with --exit-zero. All is printed before, and standard error says what is too
much. Where a count is not known, because pods or nodes are not, it is 2. There
are > and >=, and the counts that -o json has in summary.counts:

` + failOnCounts()
}

// failOnCounts lists the counts in lines of a help text.
func failOnCounts() string {
	var list strings.Builder
	wrap.Hang(&list, "  ", "  ", wrap.List(review.CountNames()))
	return strings.TrimSuffix(list.String(), "\n")
}

func (f *failOn) register(cmd *cobra.Command) {
	cmd.Flags().Var(f, "fail-on", "fail where the change does more, such as evictions>0,nodesChanged>=100")
	complete.Flag(cmd, "fail-on", completeThreshold)
}

// completeThreshold proposes each count with the limit that most are given, after the
// commas that are typed already.
func completeThreshold(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var proposed []string
	for _, name := range review.CountNames() {
		proposed = append(proposed, before+name+">0")
	}
	return proposed, cobra.ShellCompDirectiveNoFileComp
}

// Set adds the thresholds of a text, as a flag of the command line does.
func (f *failOn) Set(text string) error {
	thresholds, err := review.ParseThresholds(text)
	f.thresholds = append(f.thresholds, thresholds...)
	return err
}

// String is empty for no threshold, which the help takes for the default.
func (f *failOn) String() string {
	texts := make([]string, len(f.thresholds))
	for i, threshold := range f.thresholds {
		texts[i] = threshold.String()
	}
	return strings.Join(texts, ",")
}

// Type is what stands for the value in a help text.
func (f *failOn) Type() string { return "thresholds" }

// check is to be called after all of the review is printed. Its error is an
// [outcome]: code 3 where a threshold is exceeded, whatever the command would end
// with otherwise, and else 2 where one is about what is not known.
func (f *failOn) check(r countable) error {
	err := review.Check(r, f.thresholds)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*review.ExceededError)):
		return &outcome{code: exitExceeded, err: err}
	}
	return &outcome{code: exitUsage, err: err}
}

// countable is a review, or those of several clusters.
type countable interface {
	Exceeds(thresholds []review.Threshold) ([]string, error)
	Empty() bool
}
