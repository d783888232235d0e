package git

import (
	"cmp"

	"github.com/nodepools/nodepools/source"
)

// Login says where the credential of a repository is from, so that what to do about an
// error can be said in the words of whoever has to do it.
type Login struct {
	// Place has the credential, such as "Secret nodepools-system/git". Empty where there
	// is none.
	Place string
	// Keys are those of Place that log in, such as "username and password"; empty where
	// it has none.
	Keys string
}

// named is what a hint calls the place of a credential.
func (l Login) named() string {
	return cmp.Or(l.Place, "a Secret that spec.secretRef names")
}

// hint says what to do about an error of a kind with the credential; empty where nothing
// better is known than what the kind says.
func (l Login) hint(kind *source.Kind) string {
	switch {
	case kind == source.ErrUnauthorized && l.Keys != "":
		return "check " + l.Keys + " of " + l.Place + ", and what may be read with it"
	case kind == source.ErrRepositoryMissing && l.Keys != "":
		return "check the URL, and what may be read with " + l.Keys + " of " + l.Place + ": many servers answer like this for a repository that may not"
	case kind == source.ErrCertificate:
		return "give the certificate authority that signed the server's certificate, as ca.crt of " + l.named()
	case kind == source.ErrHostKey && l.Place == "":
		return "give a private key and the server's host key, from a place that you trust, as identity and known_hosts of " + l.named()
	case kind == source.ErrHostKey:
		return "give the server's host key, from a place that you trust, as known_hosts of " + l.Place
	}
	return ""
}

// missing says what to do where a server wants a login and there is none.
func (l Login) missing() string {
	return "the repository is private, or does not exist: give username and password, or bearerToken, in " + l.named() + ", or check the URL"
}
