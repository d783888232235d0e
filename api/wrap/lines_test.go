package wrap

import (
	"slices"
	"testing"
)

func TestLines(t *testing.T) {
	const unbroken = "5\u00a0s"
	for reason, c := range map[string]struct {
		text  string
		width int
		want  []string
	}{
		"a text that fits is one line":       {"one two", 7, []string{"one two"}},
		"a line is broken between words":     {"one two", 6, []string{"one", "two"}},
		"a word that is too long is cut":     {"a bcdefgh i", 3, []string{"a", "bcd", "efg", "h i"}},
		"characters count, and not bytes":    {"éé éé", 5, []string{"éé éé"}},
		"a space that does not break stays":  {"in " + unbroken, 4, []string{"in", unbroken}},
		"the indentation is that of all":     {"  one two", 6, []string{"  one", "  two"}},
		"there is always room for something": {"ab", 0, []string{"a", "b"}},
		"nothing is no line":                 {"", 5, nil},
	} {
		if got := Lines(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", reason, got, c.want)
		}
	}
}
