package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/source/git"
	"github.com/nodepools/nodepools/source/token"
)

// OfController reports whether a provider issues tokens to the identity of the
// controller, and not for what is in a Secret.
func OfController(provider v1.Provider) bool {
	return provider == v1.AzureProvider || provider == v1.AWSProvider
}

// useIdentity gives a repository a token for the identity of the controller, where its
// source says so. Which hosts may have one is decided by package token, whoever has
// written the source.
func (r *Reconciler) useIdentity(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository, proxy string) (*token.Token, error) {
	var issuer token.Issuer
	var err error
	switch src.Spec.Provider {
	case v1.AzureProvider:
		issuer, err = token.Azure(os.Getenv, src.Spec.URL)
	case v1.AWSProvider:
		issuer, err = token.AWS(os.Getenv, r.now, src.Spec.URL)
	case v1.GitHubProvider:
		err = source.NewError(source.ErrCredential, "", "needs a Secret").WithHint("name one with spec.secretRef that has githubAppID and githubAppPrivateKey")
	default:
		return nil, nil
	}
	var issued *token.Token
	if err == nil {
		issued, err = r.useToken(ctx, issuer, repository, proxy)
	}
	if err != nil {
		return nil, about("spec.provider "+string(src.Spec.Provider), err)
	}
	return issued, nil
}

// useApp gives a repository a token of the GitHub App of a Secret, where it has one.
func (r *Reconciler) useApp(ctx context.Context, src *v1.NodePoolSource, credential *auth.Credential, repository *git.Repository, proxy string) (*token.Token, error) {
	switch {
	case credential.App == nil && src.Spec.Provider == v1.GitHubProvider:
		return nil, source.NewError(source.ErrCredential, "", "the key "+auth.AppID+" is missing, and spec.provider is github").
			WithHint("add " + auth.AppID + ", " + auth.AppInstallation + " and " + auth.AppPrivateKey + ", or leave spec.provider out")
	case credential.App == nil || repository.IsSSH():
		return nil, nil
	}
	issuer, err := token.GitHub(credential.App, repository.URL)
	if err != nil {
		return nil, err
	}
	return r.useToken(ctx, issuer, repository, proxy)
}

// useToken gives a repository a token.
func (r *Reconciler) useToken(ctx context.Context, issuer token.Issuer, repository *git.Repository, proxy string) (*token.Token, error) {
	authorities := sha256.Sum256(repository.CABundle)
	issued, err := r.tokens.Token(ctx, issuer, proxy+" "+string(authorities[:]), repository.Ask)
	if err != nil {
		return nil, err
	}
	repository.HTTPAuth = issued
	return issued, nil
}

// UseApp gives a repository a token of a GitHub App that is issued for this once.
func UseApp(ctx context.Context, repository *git.Repository, app *auth.App) error {
	issuer, err := token.GitHub(app, repository.URL)
	if err != nil {
		return err
	}
	issued, err := token.NewCache(nil).Token(ctx, issuer, "", repository.Ask)
	if err != nil {
		return err
	}
	repository.HTTPAuth = issued
	return nil
}

// mayRead is what to do where a server refuses a token that was just issued.
var mayRead = map[v1.Provider]string{
	v1.AzureProvider: "add the identity of the controller to the organization in Azure DevOps, and let it read the repository",
	v1.AWSProvider:   "allow the role of the controller codecommit:GitPull on the repository, and check the clock of the node",
}

// tokenRefused says what to do where a server refuses a token.
func tokenRefused(src *v1.NodePoolSource, with login, err error) error {
	ours, is := errors.AsType[*source.Error](err)
	if with.token == nil || !is || !errors.Is(err, source.ErrUnauthorized) {
		return err
	}
	if hint := mayRead[src.Spec.Provider]; hint != "" {
		return ours.WithHint(hint)
	}
	return ours.WithHint("check that the GitHub App may read the contents of the repository, and that no list of allowed addresses keeps the controller out")
}
