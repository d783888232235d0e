package complete

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/source/local"
)

// Revision proposes revisions of the clone around PATH, or around the working
// directory.
var Revision = Found(func(ctx context.Context, args []string, typed string) []Proposal {
	at := "."
	if len(args) > 0 {
		at = args[0]
	}
	repository, err := local.Open(at)
	if err != nil {
		return nil
	}
	names, err := repository.Names(ctx)
	if err != nil {
		return nil
	}
	proposed := []Proposal{{"HEAD", "commit that is checked out"}}
	for _, name := range names {
		// Full names are long, and for who asks for them.
		if strings.HasPrefix(typed, "refs/") {
			proposed = append(proposed, Proposal{name.Full, name.Kind()})
		} else {
			proposed = append(proposed, Proposal{name.Short, name.Kind()})
		}
	}
	return proposed
})

// Ref proposes what --ref may be where the working directory is in a clone of
// the repository of the source, which is not asked: branches, as the remote has them,
// and tags.
var Ref = Found(func(ctx context.Context, _ []string, _ string) []Proposal {
	repository, err := local.Open(".")
	if err != nil {
		return nil
	}
	names, err := repository.Names(ctx)
	if err != nil {
		return nil
	}
	var proposed []Proposal
	for _, name := range names {
		if remote := name.AtRemote(); remote != "" {
			proposed = append(proposed, Proposal{remote, name.Kind()})
		}
	}
	return proposed
})

// RepositoryFolder proposes folders of the repository around the working directory, from
// its root.
func RepositoryFolder(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	here, err := filepath.Abs(".")
	if err != nil {
		return Nothing(nil, nil, "")
	}
	root := local.Root(here)
	parent, _ := path.Split(typed)
	if root == "" || parent != "" && !filepath.IsLocal(parent) {
		return Nothing(nil, nil, "")
	}
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(parent)))
	if err != nil {
		return Nothing(nil, nil, "")
	}
	var within []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			within = append(within, parent+entry.Name()+"/")
		}
	}
	// What is within may be meant.
	return plainProposals(Named(within), typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
