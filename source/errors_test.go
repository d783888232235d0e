package source

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
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
		ErrHostKey, ErrUnauthorized, ErrRepositoryMissing, ErrAddress, ErrRedirect, ErrServer, ErrRateLimited, ErrEmptyRepository, ErrRefMissing, ErrMoved,
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

func TestRetryAfter(t *testing.T) {
	limited := func(wait time.Duration) error { return NewError(ErrRateLimited, "x", "y").WithRetryAfter(wait) }
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"none":       {nil, 0},
		"another":    {io.EOF, 0},
		"not asked":  {NewError(ErrRateLimited, "x", "y"), 0},
		"asked":      {limited(time.Minute), time.Minute},
		"wrapped":    {fmt.Errorf("source %q: %w", "s", limited(time.Minute)), time.Minute},
		"for long":   {limited(1000 * time.Hour), MaxRetryAfter},
		"in reverse": {limited(-time.Minute), 0},
	} {
		if got := RetryAfter(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
