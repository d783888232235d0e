package hostile

import (
	"testing"
)

func TestCommands(t *testing.T) {
	for text, want := range map[string]int{
		"a::b, ## [x], #[x], ##x, node::x":                0,
		"::error::x":                                      1,
		"a\n  ::error::x\r::x":                            2,
		"a ##[group]x ##vso[x] ##VSO[x] ##teamcity[x '']": 4,
		"a\u2028::x\u0085\u00a0::x":                       2,
	} {
		if got := Commands(text); len(got) != want {
			t.Errorf("%q: %d commands, want %d: %q", text, len(got), want, got)
		}
	}
}

func TestHidden(t *testing.T) {
	for text, want := range map[string]int{
		"plain, and a line\nof its own, größer, 池, 😀":   0,
		"a replacement character \ufffd":                0,
		"\x1b[31m":                                      1,
		"\u202e \u200b \u00a0 \u3164 \r \t":             6,
		"\xff\xfe":                                      2,
		"a\u034f\ufe0f\U000e0101\u17b4\u180b\U0001d159": 6,
	} {
		if got := Hidden(text); len(got) != want {
			t.Errorf("%q: %d hidden characters, want %d: %q", text, len(got), want, got)
		}
	}
}
