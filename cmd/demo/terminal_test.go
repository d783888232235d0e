package main

import (
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	tests := []struct {
		reason string
		text   string
		most   int
		want   string
	}{
		{"without a limit all is shown", "a\nb\nc\n", 0, "a\nb\nc\n"},
		{"what fits is shown as it is", "a\nb\n", 2, "a\nb\n"},
		{"what is left out is counted", "a\nb\nc\nd\n", 2, "a\nb\n(and 2 more lines)\n"},
		{"a silent command shows nothing", "", 0, ""},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			var out strings.Builder
			(&terminal{out: &out}).output(test.text, test.most)
			if out.String() != test.want {
				t.Errorf("output prints %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestColourIsNotInPlainOutput(t *testing.T) {
	for _, coloured := range []bool{false, true} {
		var out strings.Builder
		term := &terminal{out: &out, coloured: coloured}
		term.title("A title")
		term.command("ls")
		if got := strings.Contains(out.String(), "\x1b"); got != coloured {
			t.Errorf("coloured is %v, and the output is %q", coloured, out.String())
		}
	}
}
