package source

import (
	"errors"

	"github.com/nodepools/nodepools/api/sanitize"
)

// MaxErrorLength bounds the text of an error, in bytes. Conditions and events
// have limits of their own, and a long name must not push the reason out.
const MaxErrorLength = 256

// The kinds of failure, for errors.Is. Reason gives each one's word for a
// condition.
var (
	// ErrInvalid: the Git value itself cannot be right (URL, ref, path or
	// revision). Trying again does not help.
	ErrInvalid = newKind("InvalidSource", "correct the source's URL, ref and path")
	// ErrUnsupported: the server or the repository does something that this
	// package cannot read, a SHA-256 repository for one.
	ErrUnsupported = newKind("Unsupported", "")
	// ErrUnreachable: no connection, or it was lost.
	ErrUnreachable = newKind("Unreachable", "check the host name, the port, network policies and proxy settings")
	// ErrTimeout: the time given to one call was not enough.
	ErrTimeout = newKind("Timeout", "check that the server answers, or raise the timeout")
	// ErrCanceled: the caller took its order back; errors.Is finds
	// context.Canceled too.
	ErrCanceled = newKind("Canceled", "")
	// ErrCertificate: the server's TLS certificate could not be verified.
	ErrCertificate = newKind("CertificateUntrusted", "give the certificate authority that signed the server's certificate")
	// ErrHostKey: the SSH server's host key could not be verified.
	ErrHostKey = newKind("HostKeyUntrusted", "give the server's host key in known_hosts format, from a place that you trust")
	// ErrUnauthorized: the server wants a credential, or another one.
	ErrUnauthorized = newKind("Unauthorized", "check the credential and what it may read")
	// ErrRepositoryMissing: the server knows no such repository, or hides it.
	ErrRepositoryMissing = newKind("RepositoryMissing", "check the URL; many servers answer like this for a private repository when the credential is missing")
	// ErrAddress: the host name resolves to an address of this machine or of its
	// network alone: loopback, link-local, unspecified, multicast, or the metadata
	// service of a cloud.
	ErrAddress = newKind("AddressRefused", "check what the name resolves to; for a server on this machine the URL says localhost or has the address itself")
	// ErrRedirect: the server sends us where we will not go.
	ErrRedirect = newKind("RedirectRefused", "use the URL that the repository has now")
	// ErrServer: the server failed, or does not speak Git.
	ErrServer = newKind("ServerFailed", "")
	// ErrEmptyRepository: the repository has no commit.
	ErrEmptyRepository = newKind("RepositoryEmpty", "push a first commit")
	// ErrRefMissing: no such branch, tag or commit, or no tag in the range.
	ErrRefMissing = newKind("RefMissing", "check the ref, or push it")
	// ErrAmbiguous: a name stands for several branches, tags or commits of a clone.
	ErrAmbiguous = newKind("RefAmbiguous", "write the full name, such as refs/heads/<branch>, refs/tags/<tag> or refs/remotes/origin/<branch>")
	// ErrMoved: the revision is no longer to be had, because the ref moved on
	// between Head and Fetch. The next Head names the new one.
	ErrMoved = newKind("RevisionMoved", "nothing to do: the next attempt takes the new revision")
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
	// ErrTooLarge: one of the limits of this package was reached; the error
	// names the file and the limit.
	ErrTooLarge = newKind("TooLarge", "keep the pool files in a folder, or a repository, of their own and set path to it")
	// ErrIncomplete: a clone on this machine lacks a part of the history, or files,
	// that it takes to answer.
	ErrIncomplete = newKind("CloneIncomplete", "make a full clone, or check the revision out once: git fetches then what is missing")
	// ErrConverted: a file of a working tree is not, to the byte, what a commit of it
	// would hold: git converts it, or is told not to look at it.
	ErrConverted = newKind("FileConverted", "compare the commit instead: --head HEAD, or validate --revision HEAD; or take the conversion out of .gitattributes, and check the file out again")
	// ErrUnrelated: two revisions have no ancestor in common, or several that are
	// equally near.
	ErrUnrelated = newKind("MergeBaseUnclear", "name the revision to compare with by itself")
	// ErrTemporary: this machine could not keep what was fetched.
	ErrTemporary = newKind("TemporaryStorageFailed", "check the space in, and the permissions of, the folder for temporary files")
)

// kind is what the sentinels above are: a word for a condition and a hint.
type kind struct{ reason, hint string }

func newKind(reason, hint string) *kind { return &kind{reason, hint} }

func (k *kind) Error() string { return k.reason }

// Error is the type of every error of this package. errors.Is tells its kind.
type Error struct {
	kind *kind
	text string
	hint string
	// cause is context.Canceled or context.DeadlineExceeded, or nil: any other
	// cause may carry what a server said, and is dropped.
	cause error
	// refused: the server would not give the objects that were asked for.
	refused bool
}

// Error is one line in our own words that names the subject.
func (e *Error) Error() string { return e.text }

// Hint says what to do about it, in one line, or is empty.
func (e *Error) Hint() string { return e.hint }

// Reason is the word for the reason of a condition.
func (e *Error) Reason() string { return e.kind.reason }

// Unwrap lets errors.Is find the kind and, after an abort, the context's error.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// Reason returns a CamelCase word for the kind of err, as a condition's reason:
// "RefMissing". It is empty for nil, and "Failed" for an error of another
// package.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	if k, ok := errors.AsType[*kind](err); ok {
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

// failure makes an error of a kind about a subject.
func failure(k *kind, subject, text string) *Error {
	if subject != "" {
		text = subject + ": " + text
	}
	return &Error{kind: k, text: clip(printable(text), MaxErrorLength), hint: k.hint}
}

// withHint replaces the hint of the kind by one that fits better.
func (e *Error) withHint(hint string) *Error {
	e.hint = hint
	return e
}

// quote puts a name, which may come from a repository, into an error: bounded,
// and with everything escaped that is not plainly printable.
func quote(name string) string { return sanitize.Quote(clip(name, 120)) }

// printable is one line in which nothing could forge another or colour a terminal.
func printable(text string) string { return sanitize.Line(text) }

// clip cuts text to at most limit bytes, between two characters.
func clip(text string, limit int) string { return sanitize.Clip(text, limit) }
