package source

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
)

func TestReason(t *testing.T) {
	for err, want := range map[error]string{
		nil:    "",
		io.EOF: "Failed",
		fmt.Errorf("source %q: %w", "s", NewError(ErrMoved, "x", "y")): "RevisionMoved",
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	// What the API server demands of a reason.
	word := regexp.MustCompile(`^[A-Z][A-Za-z]{0,62}$`)
	for _, each := range []*Kind{ErrInvalid, ErrUnsupported, ErrUnreachable, ErrTimeout, ErrCanceled, ErrCertificate,
		ErrHostKey, ErrUnauthorized, ErrRepositoryMissing, ErrAddress, ErrRedirect, ErrServer, ErrEmptyRepository, ErrRefMissing, ErrMoved,
		ErrPathMissing, ErrPathNotFolder, ErrPathEmpty, ErrFile, ErrUnreadable, ErrTooLarge, ErrTemporary} {
		if reason := Reason(NewError(each, "", "")); !word.MatchString(reason) {
			t.Errorf("%q is no reason", reason)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := NewError(ErrFile, "https://example.com/a", Quote("a\nb\x1b[31m\u202e"+strings.Repeat("ä", 500))+" "+strings.Repeat("ö", 500))
	if text := err.Error(); len(text) > MaxErrorLength || !utf8.ValidString(text) || sanitize.Line(text) != text {
		t.Errorf("not one plain, bounded line: %q", text)
	}
	if text := NewError(ErrFile, "a\x00b\nc", "\xff").Error(); sanitize.Line(text) != text {
		t.Errorf("not plain: %q", text)
	}
}
