package sources

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/source/git"
	"github.com/nodepools/nodepools/source/token"
)

// login is what a repository is read with.
type login struct {
	// version is that of the Secret; empty without one.
	version string
	// token is nil where none was issued.
	token *token.Token
}

// ask reads a repository with the credential that the source names. The Secret is read
// anew each time, and once more where the server refuses what was in it: a credential
// that is replaced in between works at once. A token that is refused is replaced.
func (r *Reconciler) ask(ctx context.Context, src *v1.NodePoolSource, state *fetchState) error {
	repository := Repository(src, r.options.FetchTimeout)
	repository.Received = &atomic.Int64{}
	defer func() { state.received, state.expiry = repository.Received.Load(), expiryOf(repository) }()
	proxy, err := r.useProxy(ctx, src, repository)
	if err != nil {
		return err
	}
	with, err := r.logIn(ctx, src, repository, proxy)
	if err != nil {
		return err
	}
	// What is kept was read with this proxy and Secret. A token comes and goes.
	read := func(with login) error {
		version := fmt.Sprintf("%s/%d/%s/%s", src.UID, src.Generation, proxy, with.version)
		repository.Cache = r.caches.Of(src.Name, version)
		return state.read(ctx, repository, src.Spec.Layers)
	}
	err = read(with)
	if !errors.Is(err, source.ErrUnauthorized) {
		return err
	}
	if with.token != nil {
		r.tokens.Refuse(with.token)
	}
	switch again, failed := r.logIn(ctx, src, repository, proxy); {
	case failed != nil && with.token != nil:
		return failed
	case failed != nil || again == with:
		return tokenRefused(src, with, err)
	default:
		return tokenRefused(src, again, read(again))
	}
}

// secret reads the Secret that a field of a source names. It is read past the cache, by
// its name: nothing else may be read, and nothing of it is kept.
func (r *Reconciler) secret(ctx context.Context, field string, ref *v1.SecretRef) (client.ObjectKey, *corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.FetchTimeout)
	defer cancel()
	name, secret := client.ObjectKey{Namespace: r.options.Namespace, Name: ref.Name}, &corev1.Secret{}
	if err := r.live.Get(ctx, name, secret); err != nil {
		return name, nil, unreadable(field, name, err)
	}
	return name, secret, nil
}

// useProxy gives a repository the proxy of its source, if it names one, and returns a
// name for it.
func (r *Reconciler) useProxy(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository) (string, error) {
	if src.Spec.ProxySecretRef == nil {
		return "", nil
	}
	name, secret, err := r.secret(ctx, "spec.proxySecretRef", src.Spec.ProxySecretRef)
	if err != nil {
		return "", err
	}
	proxy, err := auth.ParseProxy(secret.Data)
	if err != nil {
		return "", of(name, err)
	}
	repository.Proxy = proxy.For
	return name.Name + " " + secret.ResourceVersion, nil
}

// logIn gives a repository the credential of its source: what is in its Secret, or a
// token that is issued for that, or for the identity of the controller. proxy is the name
// of the one that it has.
func (r *Reconciler) logIn(ctx context.Context, src *v1.NodePoolSource, repository *git.Repository, proxy string) (with login, err error) {
	if src.Spec.SecretRef == nil {
		with.token, err = r.useIdentity(ctx, src, repository, proxy)
		return with, err
	}
	name, secret, err := r.secret(ctx, "spec.secretRef", src.Spec.SecretRef)
	if err != nil {
		return login{}, err
	}
	prefix := secret.Annotations[v1.URLPrefixAnnotation]
	repository.Covers = func(url string) error { return auth.Covers(prefix, url) }
	if err := repository.Covers(src.Spec.URL); errors.Is(err, source.ErrInvalid) {
		return login{}, err
	} else if err != nil {
		return login{}, of(name, err).WithHint(fmt.Sprintf("if its credential is meant to be sent there: kubectl -n %s annotate --overwrite secret %s %s=<the beginning of the URL>", name.Namespace, name.Name, v1.URLPrefixAnnotation))
	}
	repository.Login.Place = "Secret " + name.String()
	credential, err := auth.Parse(secret.Data)
	if err == nil {
		err = UseCredential(repository, credential)
	}
	with.version = secret.ResourceVersion
	if err == nil && OfController(src.Spec.Provider) {
		if err = credential.Unfit(string(src.Spec.Provider)); err == nil {
			with.token, err = r.useIdentity(ctx, src, repository, proxy)
			return with, err
		}
	}
	if err == nil {
		with.token, err = r.useApp(ctx, src, credential, repository, proxy)
	}
	if err != nil {
		return login{}, of(name, err)
	}
	return with, nil
}

// UseCredential gives a repository a credential, or returns why it is of no use there.
func UseCredential(repository *git.Repository, credential *auth.Credential) error {
	if err := credential.For(repository.URL); err != nil {
		return err
	}
	repository.CABundle, repository.Certificate = credential.CABundle, credential.Certificate
	repository.HTTPAuth, repository.SSHAuth = nil, nil
	repository.Login.Keys = credential.Keys(repository.IsSSH())
	switch {
	case credential.SSH != nil && repository.IsSSH():
		repository.SSHAuth = credential.SSH
	case credential.HTTP():
		repository.HTTPAuth = credential
	}
	return nil
}

// unreadable explains why there is no Secret.
func unreadable(field string, name client.ObjectKey, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return of(name, errors.New("does not exist")).WithHint(fmt.Sprintf("create it in the namespace %s, or correct %s", name.Namespace, field))
	case apierrors.IsForbidden(err):
		return of(name, errors.New("may not be read")).WithHint("the Role that nodepools install prints allows to get Secrets in the namespace of the controller, and nowhere else")
	}
	return of(name, errors.New("cannot be read from the API server")).WithHint("it is tried again")
}

// of makes an error of a Secret, of the kind and with the hint that it had before.
func of(name client.ObjectKey, err error) *source.Error { return about("Secret "+name.String(), err) }

// about makes an error of what the credential of a source comes from.
func about(subject string, err error) *source.Error {
	kind, ours := errors.AsType[*source.Kind](err)
	if !ours {
		kind = source.ErrCredential
	}
	wrapped := source.NewError(kind, subject, err.Error()).WithCause(err)
	if hint := source.Hint(err); hint != "" {
		wrapped = wrapped.WithHint(hint)
	}
	return wrapped
}
