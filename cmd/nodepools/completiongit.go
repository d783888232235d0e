package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/source/local"
)

// completeRevision proposes revisions of the clone around PATH, or around the working
// directory.
var completeRevision = found(func(ctx context.Context, args []string, typed string) []proposal {
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
	proposed := []proposal{{"HEAD", "commit that is checked out"}}
	for _, name := range names {
		// Full names are long, and for who asks for them.
		if strings.HasPrefix(typed, "refs/") {
			proposed = append(proposed, proposal{name.Full, name.Kind()})
		} else {
			proposed = append(proposed, proposal{name.Short, name.Kind()})
		}
	}
	return proposed
})

// completeRef proposes what --ref may be where the working directory is in a clone of
// the repository of the source, which is not asked: branches, as the remote has them,
// and tags.
var completeRef = found(func(ctx context.Context, _ []string, _ string) []proposal {
	repository, err := local.Open(".")
	if err != nil {
		return nil
	}
	names, err := repository.Names(ctx)
	if err != nil {
		return nil
	}
	var proposed []proposal
	for _, name := range names {
		if remote := name.AtRemote(); remote != "" {
			proposed = append(proposed, proposal{remote, name.Kind()})
		}
	}
	return proposed
})

// completeFolder proposes folders of the repository around the working directory, from
// its root.
func completeFolder(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nothing(nil, nil, "")
	}
	root := repositoryRoot(here)
	parent, _ := path.Split(typed)
	if root == "" || parent != "" && !filepath.IsLocal(parent) {
		return nothing(nil, nil, "")
	}
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(parent)))
	if err != nil {
		return nothing(nil, nil, "")
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			folders = append(folders, parent+entry.Name()+"/")
		}
	}
	// What is within may be meant.
	return inertProposals(unexplained(folders), typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
