// Package webhook authenticates the requests by which Git servers report a push. Start
// with [Token.Authenticate].
//
// It is pure: a request is read and none is sent. No payload is parsed: what is
// reported makes no difference, as whoever asked is told nothing and a poll finds out.
package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/source"
)

// What is wrong with a request, for errors.Is.
var (
	// ErrUnsigned: there is neither a signature nor a token.
	ErrUnsigned = errors.New("the request carries no signature and no token")
	// ErrWrong: there are some, and none is right.
	ErrWrong = errors.New("no signature and no token of the request is right")
)

// PathPrefix is what the path of every webhook begins with.
const PathPrefix = "/hook/"

// TokenKey is the key of the Secret that holds the token.
const TokenKey = "token"

// MinTokenLength is the length, in bytes, that a token has at the least: the path is
// public to whoever may read sources, and a short token can be guessed from it.
const MinTokenLength = 16

// Token is what a Git server and the controller share. It prints as nothing.
type Token struct{ secret []byte }

// ParseToken returns the token of a Secret. White space around it is not part of it: it
// comes from files. An error is a [source.Error], and has nothing of the Secret in it.
func ParseToken(secretType string, data map[string][]byte) (Token, error) {
	token := bytes.TrimSpace(data[TokenKey])
	switch {
	case secretType != v1.WebhookSecretType:
		return Token{}, source.NewError(source.ErrCredential, "", "is not of the type "+v1.WebhookSecretType).
			WithHint("a Secret keeps its type: create it anew with --type=" + v1.WebhookSecretType)
	case len(token) == 0:
		return Token{}, source.NewError(source.ErrCredential, "", "the key "+TokenKey+" is missing or empty")
	case len(token) < MinTokenLength:
		return Token{}, source.NewError(source.ErrCredential, "", fmt.Sprintf("the key %s has fewer than %d bytes", TokenKey, MinTokenLength)).
			WithHint("a token that cannot be guessed: openssl rand -hex 32")
	}
	return Token{token}, nil
}

// Path returns the path of the webhook of a source. Nobody can guess it who does not
// know the token, and it is another one with another token. A source that is made again
// under its name keeps it.
func (t Token) Path(sourceName string) string {
	// Never an HMAC by the token itself: that would be the signature of a body, and the
	// path is public.
	key := hmac.New(sha256.New, []byte("nodepools webhook path"))
	key.Write(t.secret) // never fails
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(sourceName))
	return PathPrefix + hex.EncodeToString(mac.Sum(nil))
}

// IsPath reports whether a path is that of the webhook of a source.
func (t Token) IsPath(path, sourceName string) bool {
	return subtle.ConstantTimeCompare([]byte(path), []byte(t.Path(sourceName))) == 1
}

// Authenticate decides by the header of a request whether it was made by somebody who knows
// the token: the error is nil, [ErrUnsigned] or [ErrWrong]. Where signatures decide, verify
// is not nil: it reads the body once, keeps none of it, and returns nil, [ErrWrong], or why
// the body could not be read.
//
// A request may carry several forms, as some servers send several: one that is right is
// enough, since each takes the token to make.
func (t Token) Authenticate(header http.Header) (verify func(body io.Reader) error, err error) {
	presented, right := t.hasToken(header)
	if right {
		return nil, nil
	}
	signatures, malformed := signaturesOf(header)
	switch {
	case len(signatures) > 0:
		return func(body io.Reader) error { return t.verify(signatures, body) }, nil
	case presented || malformed:
		return nil, ErrWrong
	}
	return nil, ErrUnsigned
}

func (t Token) verify(signatures []signature, body io.Reader) error {
	sums, err := t.sums(signatures, body)
	if err != nil {
		return err
	}
	right := false
	for _, s := range signatures {
		// Each is compared, however the others are.
		right = hmac.Equal(s.sum, sums[s.algorithm]) || right
	}
	if !right {
		return ErrWrong
	}
	return nil
}

// sums computes what the signatures should be, by their algorithms.
func (t Token) sums(signatures []signature, body io.Reader) (map[string][]byte, error) {
	macs := map[string]hash.Hash{}
	var all []io.Writer
	for _, s := range signatures {
		if macs[s.algorithm] == nil {
			macs[s.algorithm] = hmac.New(algorithms[s.algorithm], t.secret)
			all = append(all, macs[s.algorithm])
		}
	}
	if _, err := io.Copy(io.MultiWriter(all...), body); err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	sums := map[string][]byte{}
	for algorithm, mac := range macs {
		sums[algorithm] = mac.Sum(nil)
	}
	return sums, nil
}

// hasToken reports whether a request carries a token, and whether that is the right one.
func (t Token) hasToken(header http.Header) (presented, right bool) {
	if values := header.Values(gitLabToken); len(values) > 0 {
		presented = true
		right = len(values) == 1 && t.is(values[0])
	}
	// The user name is as the Git server has it, and counts for nothing.
	if values := header.Values("Authorization"); len(values) > 0 {
		presented = true
		_, password, ok := (&http.Request{Header: header}).BasicAuth()
		right = ok && len(values) == 1 && t.is(password) || right
	}
	return presented, right
}

// is compares a token in a time that depends on neither.
func (t Token) is(presented string) bool {
	a, b := sha256.Sum256([]byte(presented)), sha256.Sum256(t.secret)
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// String hides the token from whatever prints it.
func (t Token) String() string { return "<token>" }

// GoString hides it from %#v.
func (t Token) GoString() string { return t.String() }
