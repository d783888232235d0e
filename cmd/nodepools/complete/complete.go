// Package complete proposes to a shell what may come next on a command line: values,
// files, and what is found in a clone or a cluster. Start with [Found].
package complete

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/sanitize"
)

// Timeout bounds all that a completion waits for. Somebody sits before it
// who has pressed a key; a credential plugin alone may take a second.
const Timeout = 3 * time.Second

// Flag says what is proposed for a flag. It panics where there is no such
// flag: call it where the flag is made.
func Flag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// Nothing proposes nothing, not even files.
func Nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// Fixed proposes values.
func Fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// Files leaves it to the shell to propose files, with these extensions or with any,
// and folders.
func Files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// Folders leaves it to the shell to propose folders.
func Folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// OnlyFirst proposes for the first argument alone.
func OnlyFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return Nothing(cmd, args, typed)
		}
		return complete(cmd, args, typed)
	}
}

// PoolPath proposes PATH: a folder, or a file of pools.
var PoolPath = OnlyFirst(Files("yaml", "yml"))

// Proposal is what may be typed, and what it is, which a shell shows beside it.
type Proposal struct{ Name, Description string }

// Named are proposals without a description.
func Named(names []string) []Proposal {
	all := make([]Proposal, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

// Found proposes what is found when it is asked for. Nothing is proposed where it
// cannot be found in time: a shell has no place for an error.
func Found(find func(ctx context.Context, args []string, typed string) []Proposal) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), Timeout)
		defer cancel()
		// Not everything ends with its context: a credential plugin does not, nor a file
		// that nobody writes. The process ends then.
		all := make(chan []Proposal, 1)
		go func() { all <- find(ctx, args, typed) }()
		select {
		case all := <-all:
			return plainProposals(all, typed), cobra.ShellCompDirectiveNoFileComp
		case <-ctx.Done():
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// plainName is what no shell takes for anything but itself. Its classes are large, and
// compiled when somebody completes.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL\pN_./][\pL\pN_./@:=+~-]*$`)
})

// plainProposals are those that go on from what is typed, sorted, as the library has
// them. What a cluster, a clone or a file of somebody else is called goes onto the
// command line as it is, so names that a shell would read as something else are left out.
func plainProposals(all []Proposal, typed string) []string {
	var proposed []string
	for _, p := range all {
		if strings.HasPrefix(p.Name, typed) && plainName().MatchString(p.Name) && sanitize.Line(p.Name) == p.Name {
			proposed = append(proposed, cobra.CompletionWithDesc(p.Name, p.Description))
		}
	}
	slices.Sort(proposed)
	return proposed
}
