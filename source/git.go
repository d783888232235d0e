package source

import (
	"context"
	"net"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Git names what to follow in a repository. It is not changed by its methods,
// which may be called at the same time.
type Git struct {
	// URL is where the repository is: https://, http://, ssh:// or file:///, or
	// git's short form user@host:path for ssh. It carries no credential: user
	// information in http and https, a password in ssh, and any query are
	// refused. file:/// runs the git program of this machine; the others need
	// no program.
	URL string

	// Ref is the branch, tag, range of tags or commit; the zero value is the
	// repository's default branch.
	Ref Ref

	// Path is the folder that holds the pool files, from the root of the
	// repository: "pools", "./pools/" or "" and "." for the root.
	Path string

	// Timeout bounds one Head or one Fetch, from the first lookup of a name to
	// the last byte. Zero means DefaultTimeout.
	Timeout time.Duration

	// Auth is the credential, or nil for none. For https it is one of go-git's
	// transport/http methods (BasicAuth, TokenAuth), for ssh one of its
	// transport/ssh methods, which also hold the HostKeyCallback. It is sent to
	// the host of URL and to no other, and never over http, which anyone could
	// read.
	//
	// Without it ssh fails with ErrHostKey: a server that cannot be told from
	// another is not asked for pools.
	Auth transport.AuthMethod

	// CABundle holds certificate authorities in PEM form that are trusted for
	// https beside those of the system.
	CABundle []byte

	// TempDir is where a fetch keeps what a server sends while it reads it, up
	// to MaxPackBytes. Empty means the system's folder for temporary files.
	TempDir string

	// limits are the package's unless a test makes them smaller.
	limits *limits
	// resolver looks names up; nil means the system's.
	resolver *net.Resolver
}

// target is a Git whose fields were checked.
type target struct {
	*Git
	address address
	path    string // clean, "." for the root
	limits  limits
}

// check refuses, before anything is contacted, what cannot work.
func (g *Git) check() (*target, error) {
	a, err := parseAddress(g.URL)
	if err != nil {
		return nil, err
	}
	if err := g.Ref.check(); err != nil {
		return nil, err
	}
	clean, err := cleanPath(g.Path)
	if err != nil {
		return nil, err
	}
	t := &target{Git: g, address: a, path: clean, limits: defaultLimits()}
	if g.limits != nil {
		t.limits = *g.limits
	}
	return t, nil
}

// cleanPath takes "./dir", "dir/" and "dir" for the same folder. Others read
// "./dir" as a folder that is not there, and deleted everything.
func cleanPath(raw string) (string, error) {
	clean := path.Clean("./" + raw)
	switch {
	case strings.HasPrefix(raw, "/"):
		return "", failure(ErrInvalid, "path", quote(raw)+" is absolute").
			withHint("write it from the root of the repository, without a leading slash")
	case clean == "..", strings.HasPrefix(clean, "../"):
		return "", failure(ErrInvalid, "path", quote(raw)+" leads out of the repository")
	case !plain(clean):
		return "", failure(ErrInvalid, "path", quote(raw)+" holds a character that does not belong there")
	}
	return clean, nil
}

// within bounds a call by the timeout.
func (g *Git) within(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := g.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// subject is what errors of this target are about.
func (t *target) subject() string { return clip(t.address.String(), 120) }

// fail makes an error about this target.
func (t *target) fail(k *kind, text string) *Error { return failure(k, t.subject(), text) }
