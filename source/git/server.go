package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// server is git-upload-pack, over any transport: first what it says by itself, then the
// answers to requests. Closing the context that it was dialled with ends whatever it is
// waiting for.
type server interface {
	// advertise returns the stream of what the server begins with.
	advertise() (io.Reader, error)
	// request sends one request and returns the answer, which the caller has read before
	// the next request.
	request(body []byte) (io.Reader, error)
	// explainEnd explains a server that ended the stream without a word.
	explainEnd() error
	// close releases the connection, and waits until it is released.
	close()
}

// dial connects to the server.
//
// go-git's own clients are not used: its ssh client cannot be interrupted in
// the handshake, its http client puts the server's text into errors, and both
// are chosen through variables that the whole process shares.
func (t *target) dial(ctx context.Context) (server, error) {
	switch t.address.scheme {
	case "https", "http":
		return t.dialHTTP(ctx)
	case "ssh":
		return t.dialSSH(ctx)
	}
	return t.startProgram(ctx)
}

// explain turns whatever went wrong into an error of ours. Only kinds and
// numbers are taken from err, never its text, which may be the server's (I10).
func (t *target) explain(ctx context.Context, err error) *source.Error {
	var ours *source.Error
	var line *pktline.ErrorLine
	if ctxErr := ctx.Err(); ctxErr != nil {
		return t.interrupted(ctxErr)
	}
	if certificate := t.certificate(err); certificate != nil {
		return certificate
	}
	if network := t.network(err); network != nil {
		return network
	}
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, errSHA256):
		return object.UnsupportedSHA256(t.subject())
	case errors.Is(err, errEmpty):
		return t.fail(source.ErrEmptyRepository, "the repository is empty")
	case errors.As(err, &line):
		return t.explainText(line.Text)
	case errors.Is(err, errSilent), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return t.fail(source.ErrUnreachable, "the server broke off the connection")
	case errors.Is(err, errGarbled), errors.Is(err, pktline.ErrInvalidPktLen):
		return t.fail(source.ErrServer, "the answer is not that of a Git server").
			WithHint("check that the URL is that of a repository")
	}
	return t.fail(source.ErrServer, "the server's answer cannot be used")
}

func (t *target) interrupted(cause error) *source.Error {
	if errors.Is(cause, context.Canceled) {
		return t.fail(source.ErrCanceled, "interrupted").WithCause(cause)
	}
	return t.fail(source.ErrTimeout, "the server did not finish in time").WithCause(cause)
}

// network recognises what this machine's network says.
func (t *target) network(err error) *source.Error {
	var dns *net.DNSError
	var errno syscall.Errno
	var timeout net.Error
	var socks *net.OpError
	if proxy := t.proxyUnreached(err); proxy != nil {
		return proxy
	}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return t.fail(source.ErrUnreachable, "the host name is not known")
	case errors.As(err, &dns):
		return t.fail(source.ErrUnreachable, "the host name cannot be looked up")
	case errors.As(err, &errno):
		return t.fail(source.ErrUnreachable, errno.Error())
	case errors.As(err, &timeout) && timeout.Timeout():
		return t.fail(source.ErrTimeout, "the server did not answer in time")
	case errors.As(err, &socks) && strings.HasPrefix(socks.Op, "socks"):
		return t.socksRefused(socks.Err)
	}
	return nil
}

// certificate recognises why TLS failed.
func (t *target) certificate(err error) *source.Error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unverified *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.As(err, &remote) && remote.Op == "remote error":
		return t.fail(source.ErrUnreachable, "the server refuses TLS").WithHint("check that it speaks TLS 1.2 or later")
	case errors.As(err, &unknown):
		return t.fail(source.ErrCertificate, "the certificate is signed by an unknown authority")
	case errors.As(err, &host):
		return t.fail(source.ErrCertificate, "the certificate is for another host").
			WithHint("use a host name in the URL that the certificate is for, or have the certificate issued for this one")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return t.fail(source.ErrCertificate, "the certificate has expired or is not yet valid").
			WithHint("have the server's certificate renewed, and check the clock of this machine")
	case errors.As(err, &invalid), errors.As(err, &unverified):
		return t.fail(source.ErrCertificate, "the certificate cannot be verified")
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return t.fail(source.ErrUnreachable, "the server does not speak TLS at this port")
	}
	return nil
}

// What servers say, in lower case, for three things that the protocol has no
// code for. Their words decide the kind, and are dropped.
var (
	saysMissing = []string{"not found", "does not exist", "no such repo", "not appear to be a git repository", "could not be found", "cannot find repository", "not a git repository", "repository not exported"}
	saysDenied  = []string{"access denied", "permission denied", "not authorized", "unauthorized", "authentication", "don't have access", "do not have access", "forbidden"}
	saysUnowned = []string{"dubious ownership"}
)

// explainText explains an error that a server put into words.
func (t *target) explainText(words string) *source.Error {
	words = strings.ToLower(words)
	says := func(phrases []string) bool {
		for _, phrase := range phrases {
			if strings.Contains(words, phrase) {
				return true
			}
		}
		return false
	}
	switch {
	case says(saysUnowned):
		return t.fail(source.ErrUnauthorized, "the repository belongs to another user").
			WithHint("git config --global --add safe.directory <folder of the repository>")
	case says(saysMissing):
		return t.fail(source.ErrRepositoryMissing, "there is no such repository")
	case says(saysDenied):
		return t.fail(source.ErrUnauthorized, "access is denied")
	}
	return t.fail(source.ErrServer, "the server refused")
}
