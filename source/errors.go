package source

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nodepools/nodepools/api/sanitize"
)

// MaxErrorLength bounds the text of an error, in bytes. Conditions and events
// have limits of their own, and a long name must not push the reason out.
const MaxErrorLength = 256

// The kinds of failure, for errors.Is. Reason gives each one's word for a
// condition.
var (
	// ErrInvalid: what the caller asks for cannot be right (URL, ref, path or
	// revision). Trying again does not help.
	ErrInvalid = newKind("InvalidSource", "correct the source's URL, ref and path")
	// ErrUnsupported: the server or the repository does something that cannot be
	// read, a SHA-256 repository for one.
	ErrUnsupported = newKind("Unsupported", "")
	// ErrUnreachable: no connection, or it was lost.
	ErrUnreachable = newKind("Unreachable", "check the host name, the port, network policies and proxy settings")
	// ErrTimeout: the time given to one call was not enough.
	ErrTimeout = newKind("Timeout", "check that the server answers, or raise the timeout")
	// ErrCanceled: the caller's context was canceled; errors.Is finds
	// context.Canceled too.
	ErrCanceled = newKind("Canceled", "")
	// ErrCertificate: the server's TLS certificate could not be verified.
	ErrCertificate = newKind("CertificateUntrusted", "give the certificate authority that signed the server's certificate, as ca.crt of a Secret that spec.secretRef names")
	// ErrHostKey: the SSH server's host key could not be verified.
	ErrHostKey = newKind("HostKeyUntrusted", "give the server's host key, from a place that you trust, as known_hosts of a Secret that spec.secretRef names")
	// ErrUnauthorized: the server wants a credential, or another one.
	ErrUnauthorized = newKind("Unauthorized", "check the credential and what it may read")
	// ErrCredential: a credential cannot be used, or not for this URL.
	ErrCredential = newKind("CredentialInvalid", "correct the Secret")
	// ErrToken: the server that issues tokens for the repository issues none.
	ErrToken = newKind("TokenRefused", "check the identity that the token is for, and what it may read")
	// ErrRepositoryMissing: the server knows no such repository, or hides it.
	ErrRepositoryMissing = newKind("RepositoryMissing", "check the URL; many servers answer like this for a private repository when the credential is missing")
	// ErrAddress: the host name resolves to an address of this machine or of its
	// network alone: loopback, link-local, unspecified, multicast, or the metadata
	// service of a cloud.
	ErrAddress = newKind("AddressRefused", "check what the name resolves to; for a server on this machine the URL says localhost or has the address itself")
	// ErrRedirect: the server redirects to where requests must not go.
	ErrRedirect = newKind("RedirectRefused", "use the URL that the repository has now")
	// ErrServer: the server failed, or does not speak the protocol.
	ErrServer = newKind("ServerFailed", "")
	// ErrRateLimited: the server has had too many requests. [RetryAfter] is how long it
	// asks to wait, where it says so.
	ErrRateLimited = newKind("RateLimited", "nothing to do, it is asked again later; where this keeps happening, raise spec.interval, or give a credential: servers allow more to those who log in")
	// ErrEmptyRepository: the repository has no commit.
	ErrEmptyRepository = newKind("RepositoryEmpty", "push a first commit")
	// ErrRefMissing: no such branch, tag or commit, or no tag in the range.
	ErrRefMissing = newKind("RefMissing", "check the ref, or push it")
	// ErrAmbiguous: a name stands for several branches, tags or commits of a clone.
	ErrAmbiguous = newKind("RefAmbiguous", "write the full name, such as refs/heads/<branch>, refs/tags/<tag> or refs/remotes/origin/<branch>")
	// ErrMoved: the revision is no longer to be had, because the ref moved on
	// before it was fetched. The next attempt names the new one.
	ErrMoved = newKind("RevisionMoved", "nothing to do: the next attempt takes the new revision")
	// ErrNotCommit: the ref stands for something else than a commit.
	ErrNotCommit = newKind("RefNotCommit", "name a tag of a commit: git tag -f <tag> <commit>")
	// ErrPathMissing: the revision has nothing at the path.
	ErrPathMissing = newKind("PathMissing", "check the path; it is taken from the root of the repository")
	// ErrPathNotFolder: the path names a file, a symbolic link or a submodule.
	ErrPathNotFolder = newKind("PathNotFolder", "name the folder that holds the pool files")
	// ErrPathEmpty: there is no file at all below the path.
	ErrPathEmpty = newKind("PathEmpty", "check the path; to delete every pool, delete them with kubectl")
	// ErrFile: what may stand for pools below the path cannot be taken: a symbolic
	// link, a submodule, a name with control characters, a device.
	ErrFile = newKind("FileRefused", "")
	// ErrUnreadable: a file of a directory cannot be read.
	ErrUnreadable = newKind("FileUnreadable", "check the file's permissions")
	// ErrTooLarge: a limit was reached; the error names it, and the file.
	ErrTooLarge = newKind("TooLarge", "keep the pool files in a folder, or a repository, of their own and set path to it")
	// ErrIncomplete: a clone on this machine lacks a part of the history, or files,
	// that it takes to answer.
	ErrIncomplete = newKind("CloneIncomplete", "make a full clone, or check the revision out once: git fetches then what is missing")
	// ErrUnrelated: two revisions have no ancestor in common, or several that are
	// equally near.
	ErrUnrelated = newKind("MergeBaseUnclear", "name the revision to compare with by itself")
	// ErrTemporary: this machine could not keep what was fetched.
	ErrTemporary = newKind("TemporaryStorageFailed", "check the space in, and the permissions of, the folder for temporary files")
)

// Kind is the kind of an error: a word for a condition, and a hint. Its values are
// the sentinels above.
type Kind struct{ reason, hint string }

func newKind(reason, hint string) *Kind { return &Kind{reason, hint} }

// Error is the word for a condition.
func (k *Kind) Error() string { return k.reason }

// Error is the type of every error of a source; [NewError] makes one. errors.Is
// finds its [Kind].
type Error struct {
	kind *Kind
	text string
	hint string
	// retryAfter is how long a server asks to wait; 0 where it does not.
	retryAfter time.Duration
	// cause is context.Canceled or context.DeadlineExceeded, or nil.
	cause error
}

// NewError makes an error of a kind about a subject, which may be empty. Whatever is
// in the text, the error is one plain line of at most [MaxErrorLength] bytes; but text
// of a server and credentials must not be in it at all.
func NewError(kind *Kind, subject, text string) *Error {
	if subject != "" {
		text = subject + ": " + text
	}
	return &Error{kind: kind, text: sanitize.Clip(sanitize.Line(text), MaxErrorLength), hint: kind.hint}
}

// WithHint replaces the hint of the kind by one that fits better.
func (e *Error) WithHint(hint string) *Error {
	e.hint = hint
	return e
}

// WithCause lets errors.Is find the error of a context that has ended. Any other
// cause may carry what a server said, and is dropped.
func (e *Error) WithCause(cause error) *Error {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(cause, ended) {
			e.cause = ended
		}
	}
	return e
}

// MaxRetryAfter bounds how long a server can have itself left alone.
const MaxRetryAfter = time.Hour

// WithRetryAfter says how long the server asks to wait before the next request.
func (e *Error) WithRetryAfter(wait time.Duration) *Error {
	e.retryAfter = min(max(wait, 0), MaxRetryAfter)
	return e
}

// Error is one line in our own words that names the subject.
func (e *Error) Error() string { return e.text }

// Hint says what to do about it, in one line, or is empty.
func (e *Error) Hint() string { return e.hint }

// Kind is the kind of the error.
func (e *Error) Kind() *Kind { return e.kind }

// Reason is the word for the reason of a condition.
func (e *Error) Reason() string { return e.kind.reason }

// Unwrap lets errors.Is find the kind and, after an abort, the context's error.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// IsOfRevision reports whether err is about what a revision holds: reading the same one
// again would fail again.
func IsOfRevision(err error) bool {
	return slices.ContainsFunc([]error{ErrNotCommit, ErrPathMissing, ErrPathNotFolder, ErrPathEmpty, ErrFile, ErrTooLarge}, func(kind error) bool {
		return errors.Is(err, kind)
	})
}

// Reason returns a CamelCase word for the kind of err, as a condition's reason:
// "RefMissing". It is empty for nil, and "Failed" for an error of another
// package.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	if k, ok := errors.AsType[*Kind](err); ok {
		return k.reason
	}
	return "Failed"
}

// Hint returns a line that says what to do about err, or the empty string.
func Hint(err error) string {
	if ours, ok := errors.AsType[*Error](err); ok {
		return ours.hint
	}
	return ""
}

// RetryAfter is how long the server asks to wait before the next request, at most
// [MaxRetryAfter]; 0 where it does not ask.
func RetryAfter(err error) time.Duration {
	if ours, ok := errors.AsType[*Error](err); ok {
		return ours.retryAfter
	}
	return 0
}
