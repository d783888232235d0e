package explain

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

// Nothing of it reaches the terminal, and no line is longer for it.
func TestHostileTextIsSanitized(t *testing.T) {
	for name, text := range hostiletexts.Samples() {
		t.Run(name, func(t *testing.T) {
			for _, field := range []plan.Field{plan.Label, plan.Annotation, plan.Taint} {
				got := shown(field, text, 60)
				if strings.ContainsFunc(got, func(r rune) bool { return r == '\n' || sanitize.Hidden(r) }) || !utf8.ValidString(got) {
					t.Errorf("%s is shown as %q", field, got)
				}
				if n := utf8.RuneCountInString(got); n > 60 {
					t.Errorf("%s is shown in %d characters", field, n)
				}
			}
			for _, got := range []string{review.Word(text), sanitize.Line(text)} {
				if strings.ContainsFunc(got, func(r rune) bool { return r == '\n' || sanitize.Hidden(r) }) {
					t.Errorf("it became %.100q", got)
				}
			}
		})
	}
}

func TestShown(t *testing.T) {
	cases := map[string]struct {
		reason string
		field  plan.Field
		text   string
		most   int
		want   string
	}{
		"label":        {"as kubectl takes it", plan.Label, "gold", 40, "gold"},
		"empty":        {"it must be seen", plan.Label, "", 40, `""`},
		"annotation":   {"anything may stand in it", plan.Annotation, "a b", 40, `"a b"`},
		"JSON":         {"no backslash before each quotation mark", plan.Annotation, `{"a":1}`, 40, "`{\"a\":1}`"},
		"long":         {"its size is reported", plan.Annotation, strings.Repeat("é", 600), 20, `"ééééééééé…" (1 KiB)`},
		"little space": {"something is shown all the same", plan.Annotation, strings.Repeat("x", 600), 5, `"…" (600 B)`},
	}
	for name, c := range cases {
		if got := shown(c.field, c.text, c.most); got != c.want {
			t.Errorf("%s: %s, want %s: %s", name, got, c.want, c.reason)
		}
	}
}
