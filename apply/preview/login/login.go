// Package login logs the user of a command in at the repository of a source, where the
// controller would use its own credential. Start with [Options.Use].
package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/source/auth/user"
	"github.com/nodepools/nodepools/source/git"
)

// Options choose a login; one at the most.
type Options struct {
	// Folder has the keys of the Secret as files, and the prefix of the URLs that they may
	// be sent to.
	Folder string
	// Agent takes the keys of the ssh agent.
	Agent bool
	// Helper asks git's credential helper.
	Helper bool
}

// Use gives the repository of a source the login. Where none is chosen, the repository has
// to be one that needs none.
func (o Options) Use(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository) error {
	var flag string
	var err error
	switch {
	case o.Folder != "":
		flag, err = "--credential-file "+o.Folder, o.useFolder(ctx, src, repository)
	case o.Agent:
		flag, err = "--ssh-agent", useAgent(repository)
	case o.Helper:
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

func (o Options) useFolder(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository) error {
	const folders = "name a folder that has the keys of the Secret as files, and url-prefix"
	switch info, err := os.Stat(o.Folder); {
	case errors.Is(err, fs.ErrNotExist):
		return hint.Add(errors.New("there is no such folder"), folders)
	case err == nil && !info.IsDir():
		return hint.Add(errors.New("it is not a folder"), folders)
	}
	credential, prefix, err := auth.Folder(os.DirFS(o.Folder))
	if err != nil && source.Hint(err) == source.Hint(source.NewError(source.ErrCredential, "", "")) {
		return hint.Add(err, "correct the files of the folder")
	} else if err != nil {
		return err
	}
	repository.Covers = func(url string) error { return auth.Covers(prefix, url) }
	if err := repository.Covers(src.Spec.URL); errors.Is(err, source.ErrInvalid) {
		return err
	} else if err != nil {
		return hint.Add(err, fmt.Sprintf("if it is meant to be sent to %s, write the beginning of that into the file %s", src.Spec.URL, auth.URLPrefixFile))
	}
	repository.Login.Place = "--credential-file " + o.Folder
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
