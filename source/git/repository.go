package git

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/nodepools/nodepools/source"
)

// Repository names what to follow in a repository on a server. It is not changed by
// its methods, which may be called at the same time.
type Repository struct {
	// URL is where the repository is: https://, http://, ssh:// or file:///. It
	// carries no credential: user information in http and https, a password in
	// ssh, and any query are refused. file:/// runs the git program of this
	// machine; the others need no program.
	URL string

	// Ref is the branch, tag, range of tags or commit; the zero value is the
	// repository's default branch.
	Ref Ref

	// Path is the folder that holds the pool files, from the root of the
	// repository: "pools", "./pools/" or "" and "." for the root.
	Path string

	// Timeout bounds one Head, one Fetch or one attempt of Latest, from the first lookup
	// of a name to the last byte. Zero means DefaultTimeout.
	Timeout time.Duration

	// HTTPAuth is the credential for https, or nil for none. It is sent to the host of
	// URL and to no other, and never over http, which anyone could read.
	HTTPAuth HTTPAuth

	// Covers returns why the credential must not be sent to the URL of a repository, nil
	// where it may: a redirect goes no further than that. Without it a redirect may lead to
	// any path of the host.
	Covers func(url string) error

	// SSHAuth is the credential for ssh. Without it ssh fails with source.ErrHostKey: a
	// server that cannot be distinguished from another is not asked for pools.
	SSHAuth SSHAuth

	// Login says where the credential is from.
	Login Login

	// CABundle holds certificate authorities in PEM form that are trusted for
	// https beside those of the system.
	CABundle []byte

	// Certificate is the client's own, for https; nil for none.
	Certificate *tls.Certificate

	// Proxy chooses the proxy for https, http and ssh. Nil takes those that the
	// environment names, as [http.ProxyFromEnvironment] has it, for https and http.
	Proxy Proxy

	// TempDir is where a fetch keeps what a server sends while it reads it, up
	// to MaxPackBytes. Empty means the system's folder for temporary files.
	TempDir string

	// Cache is what earlier calls have left for this one, which leaves something in it
	// in turn; nil for nothing. It is of this URL, Ref, Path, credential and proxy.
	Cache *Cache

	// Received has the number of bytes added that servers send; nil for nobody who wants
	// to know.
	Received *atomic.Int64

	// limits are the package's unless a test makes them smaller.
	limits *limits
	// resolver looks names up; nil means the system's.
	resolver *net.Resolver
}

// IsSSH reports whether the repository is read by ssh.
func (r *Repository) IsSSH() bool {
	a, err := parseAddress(r.URL)
	return err == nil && a.scheme == "ssh"
}

// target is a Git whose fields were checked.
type target struct {
	*Repository
	address address
	path    string // clean, "." for the root
	limits  limits
}

// check refuses, before anything is contacted, what cannot work.
func (r *Repository) check() (*target, error) {
	a, err := parseAddress(r.URL)
	if err != nil {
		return nil, err
	}
	if err := r.Ref.check(); err != nil {
		return nil, err
	}
	clean, err := source.CleanPath(r.Path)
	if err != nil {
		return nil, err
	}
	t := &target{Repository: r, address: a, path: clean, limits: defaultLimits()}
	if r.limits != nil {
		t.limits = *r.limits
	}
	return t, nil
}

// cache is that of a ref which can move: a commit is fetched once.
func (t *target) cache() *Cache {
	if t.Ref.Commit != "" {
		return nil
	}
	return t.Cache
}

// within bounds a call by the timeout.
func (r *Repository) within(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// subject is what errors of this target are about.
func (t *target) subject() string { return source.Subject(t.address.String()) }

// fail makes an error about this target.
func (t *target) fail(kind *source.Kind, text string) *source.Error {
	failure := source.NewError(kind, t.subject(), text)
	if hint := t.Login.hint(kind); hint != "" {
		return failure.WithHint(hint)
	}
	return failure
}
