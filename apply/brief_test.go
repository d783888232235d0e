package apply

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBrief(t *testing.T) {
	cases := map[string]struct {
		reason, text, want string
	}{
		"plain":              {"it is shown as it is", `nodes "a" is forbidden`, `nodes "a" is forbidden`},
		"control characters": {"a status is one line, and no terminal obeys it", "a\nb\x1b[31mc\u009b", `a\nb\x1b[31mc\u009b`},
		"direction":          {"it reverses the text around it, or is invisible", "a\u202eb\u200bc", `a\u202eb\u200bc`},
		"broken text":        {"invalid UTF-8 is shown as bytes", "a\xffb", `a\xffb`},
		"command":            {"a status is printed by a CI job, too", "::error::x ##vso[y]", `\u003a:error::x #\u0023vso[y]`},
		"long":               {"the text of a server is unbounded", strings.Repeat("é", 300), strings.Repeat("é", 126) + "…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Brief(errors.New(c.text))
			if got != c.want || !utf8.ValidString(got) {
				t.Errorf("got %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}
