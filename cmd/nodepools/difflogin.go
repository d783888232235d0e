package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/source/auth/user"
	"github.com/nodepools/nodepools/source/git"
)

// loginFlags say how to log in at the repository of a source.
type loginFlags struct {
	// folder has the keys of the Secret as files.
	folder        string
	agent, helper bool
}

func (f *loginFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.folder, "credential-file", "", "`folder` with the credential for the repository of --source: the keys of its Secret as files, and url-prefix")
	flags.BoolVar(&f.agent, "ssh-agent", false, "log in at the repository of --source with the keys of your ssh agent, where ssh knows the server already")
	flags.BoolVar(&f.helper, "credential-helper", false, "log in at the repository of --source, by https, with what git's credential helper knows")
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

// use gives the repository of a source the login.
func (f *loginFlags) use(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository) error {
	var flag string
	var err error
	switch {
	case f.folder != "":
		flag, err = "--credential-file "+f.folder, f.useFolder(ctx, src, repository)
	case f.agent:
		flag, err = "--ssh-agent", useAgent(repository)
	case f.helper:
		flag, err = "--credential-helper", useHelper(ctx, repository)
	case sources.OfController(src.Spec.Provider):
		return hint.Add(fmt.Errorf("the repository of NodePoolSource %q is read with the identity of the controller, which this machine does not have", src.Name),
			"log in with --credential-helper, or name a folder with --credential-file that has username and password as files, and url-prefix")
	case src.Spec.SecretRef != nil:
		return hint.Add(fmt.Errorf("the repository of NodePoolSource %q is private", src.Name),
			fmt.Sprintf("log in with --ssh-agent or --credential-helper, or name a folder with --credential-file that has the keys of the Secret %s as files, and url-prefix", src.Spec.SecretRef.Name))
	}
	if err != nil {
		return hint.Add(fmt.Errorf("%s: %w", flag, err), cmp.Or(hint.Of(err), source.Hint(err)))
	}
	return nil
}

func (f *loginFlags) useFolder(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository) error {
	credential, prefix, err := auth.Folder(os.DirFS(f.folder))
	if err != nil {
		return err
	}
	if err := auth.Covers(prefix, src.Spec.URL); err != nil {
		return hint.Add(err, fmt.Sprintf("if it is meant to be sent to %s, write the beginning of that into the file %s", src.Spec.URL, auth.URLPrefixFile))
	}
	if err := sources.UseCredential(repository, credential); err != nil || credential.App == nil || repository.IsSSH() {
		return err
	}
	return sources.UseApp(ctx, repository, credential.App)
}

func useAgent(repository *git.Repository) error {
	if !repository.IsSSH() {
		return source.NewError(source.ErrCredential, "", "the URL of the source is not one of ssh").WithHint("use --credential-helper")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	login, err := user.Agent(os.Getenv(user.AgentVariable), repository.Timeout, user.KnownHosts(home))
	if err != nil {
		return err
	}
	repository.SSHAuth = login
	return nil
}

func useHelper(ctx context.Context, repository *git.Repository) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, repository.Timeout)
	defer cancel()
	credential, err := user.Helper(ctx, home, repository.URL)
	if err != nil {
		return err
	}
	return sources.UseCredential(repository, credential)
}
