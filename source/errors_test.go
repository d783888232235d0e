package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReason(t *testing.T) {
	for err, want := range map[error]string{
		nil:    "",
		io.EOF: "Failed",
		fmt.Errorf("source %q: %w", "s", failure(ErrMoved, "x", "y")): "RevisionMoved",
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	// What the API server demands of a reason.
	word := regexp.MustCompile(`^[A-Z][A-Za-z]{0,62}$`)
	for _, each := range []*kind{ErrInvalid, ErrUnsupported, ErrUnreachable, ErrTimeout, ErrCanceled, ErrCertificate,
		ErrHostKey, ErrUnauthorized, ErrRepositoryMissing, ErrAddress, ErrRedirect, ErrServer, ErrEmptyRepository, ErrRefMissing, ErrMoved,
		ErrPathMissing, ErrPathNotFolder, ErrPathEmpty, ErrFile, ErrUnreadable, ErrTooLarge, ErrTemporary} {
		if reason := Reason(failure(each, "", "")); !word.MatchString(reason) {
			t.Errorf("%q is no reason", reason)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := failure(ErrFile, "https://example.com/a", quote("a\nb\x1b[31m\u202e"+strings.Repeat("ä", 500))+" "+strings.Repeat("ö", 500))
	if text := err.Error(); len(text) > MaxErrorLength || !utf8.ValidString(text) || printable(text) != text {
		t.Errorf("not one plain, bounded line: %q", text)
	}
	if text := failure(ErrFile, "a\x00b\nc", "\xff").Error(); printable(text) != text {
		t.Errorf("not plain: %q", text)
	}
}

func TestErrorUnwrap(t *testing.T) {
	target := &target{address: address{scheme: "https", host: "example.com", path: "/a"}}
	err := target.interrupted(context.Canceled)
	if !errors.Is(err, ErrCanceled) || !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
		t.Errorf("%v", err)
	}
}
