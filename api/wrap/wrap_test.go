package wrap

import (
	"strings"
	"testing"
)

func TestHang(t *testing.T) {
	full := strings.Repeat("x", Width/2)
	tests := []struct {
		reason        string
		first, others string
		words         []string
		want          string
	}{
		{"a short text stays one line", "", "", []string{"one", "two"}, "one two\n"},
		{"a line may be full to the last column", "", "", []string{full[1:], full}, full[1:] + " " + full + "\n"},
		{"and not fuller", "", "", []string{full, full}, full + "\n" + full + "\n"},
		{"characters count, and not bytes", "", "", []string{strings.Repeat("é", Width/2-1), full}, strings.Repeat("é", Width/2-1) + " " + full + "\n"},
		{"each line has its prefix", "- ", "  ", []string{"a", full, full}, "- a " + full + "\n  " + full + "\n"},
		{"a word that is too long has a line of its own", "", "", []string{"a", full + full + "x", "b"}, "a\n" + full + full + "x\nb\n"},
		{"a word may hold spaces, and no line ends with one", "", "", []string{"a b ", full + full}, "a b\n" + full + full + "\n"},
		{"nothing is an empty line", "  ", "  ", nil, "\n"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			var out strings.Builder
			if Hang(&out, test.first, test.others, test.words); out.String() != test.want {
				t.Errorf("printed %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	full := strings.Repeat("x", Width/2)
	var out strings.Builder
	Text(&out, " ", "a  b\n"+full+" "+full+"\n")
	if want := " a b\n " + full + "\n   " + full + "\n"; out.String() != want {
		t.Errorf("printed %q, want %q: lines are kept, and those that are broken hang", out.String(), want)
	}
}

func TestParagraphs(t *testing.T) {
	full := strings.Repeat("x", Width/2)
	text := "one\ntwo " + full + "\n" + full + "\n\nstays:\n  a   b\n\n  " + full + " " + full + "\n\nthe last"
	want := "one two " + full + "\n" + full + "\n\nstays:\n  a   b\n\n  " + full + " " + full + "\n\nthe last"
	if got := Paragraphs(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
