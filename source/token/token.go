package token

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nodepools/nodepools/source"
)

// A Token is a credential that a server has issued, and that soon expires.
type Token struct {
	set             func(*http.Request)
	issued, expires time.Time
	// replacement is set on one that was issued in place of a token that was refused.
	replacement bool
}

// SetAuth adds the token to a request, if it goes where the token may be sent.
func (t *Token) SetAuth(request *http.Request) { t.set(request) }

// String keeps a token out of whatever prints one.
func (t *Token) String() string { return "token" }

// GoString is String, for %#v.
func (t *Token) GoString() string { return t.String() }

// An Issuer issues tokens to one identity.
type Issuer interface {
	// Identity distinguishes it from others: a token of one is as good as a token of
	// another with the same identity. It has no secret in it.
	Identity() Identity
	// Issue asks for a token. Errors are those of package source.
	Issue(ctx context.Context, send Send, now time.Time) (*Token, error)
}

// Identity is a hash of all that decides which token is issued.
type Identity [sha256.Size]byte

// identity hashes texts in a way that no two lists of them have in common.
func identity(texts ...string) Identity {
	all := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(all, "%d:%s", len(text), text)
	}
	return Identity(all.Sum(nil))
}

// Send sends a request to a server of an issuer. It bounds what it waits for and what it
// reads, and explains in its error why there is no answer.
type Send func(*http.Request) (*http.Response, error)

// maxToken is how long a token may be, in bytes: that of Azure has some 2,000.
const maxToken = 16 << 10

// usable reports whether a text can stand in a header as a token. A line break would
// begin another header.
func usable(text string) bool {
	return text != "" && len(text) <= maxToken && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// refused makes an error of a server that issues no token, with what to do about it.
func refused(text, hint string) *source.Error {
	return source.NewError(source.ErrToken, "", text).WithHint(hint)
}

// unusable explains an answer that is none.
func unusable(subject string) *source.Error {
	return source.NewError(source.ErrServer, subject, "the answer has no token that can be used").
		WithHint("check the address of the server, and what is in between: the answer is not that of its published protocol")
}
