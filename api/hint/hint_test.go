package hint_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nodepools/nodepools/api/hint"
)

func TestOf(t *testing.T) {
	bare := errors.New("it failed")
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"none":    {"nothing was said", bare, ""},
		"its own": {"it has a hint", hint.Add(bare, "try again"), "try again"},
		"wrapped": {"a hint outlives what is said before the error", fmt.Errorf("read: %w", hint.Add(bare, "try again")), "try again"},
		"outer":   {"the outer one knows more", hint.Add(hint.Add(bare, "try again"), "log in"), "log in"},
		"nil":     {"there is no error", nil, ""},
	}
	for name, c := range cases {
		if got := hint.Of(c.err); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
	if err := hint.Add(bare, "try again"); !errors.Is(err, bare) || err.Error() != bare.Error() {
		t.Errorf("the error became %q", err)
	}
}
