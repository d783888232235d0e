package sanitize_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
)

func TestClip(t *testing.T) {
	const accent = "e\u0301" // one letter of two characters and three bytes
	cases := map[string]struct {
		reason       string
		text         string
		most         int
		bytes, runes string
	}{
		"fits":          {"what is as long as allowed is not truncated", "abcd", 4, "abcd", "abcd"},
		"longer":        {"the ellipsis counts: as three bytes, and as one character", "abcdefgh", 5, "ab…", "abcd…"},
		"wide":          {"never within a character", "éééééé", 6, "é…", "éééééé"},
		"marks":         {"never between a letter and its marks", "ab" + accent + "cdefgh", 6, "ab…", "ab" + accent + "c…"},
		"marks, one on": {"a letter is whole once there is space for its marks", "ab" + accent + "cdefgh", 8, "ab" + accent + "…", "ab" + accent + "cde…"},
		"cut at a mark": {"a letter whose mark is beyond the limit is left out", "ab" + accent + "cdefgh", 4, "a…", "ab…"},
		"only marks":    {"there is no letter that they could be kept with", strings.Repeat("\u0301", 20), 8, "\u0301\u0301…", strings.Repeat("\u0301", 7) + "…"},
		"many marks":    {"more marks than a letter has in any language are cut", "a" + strings.Repeat("\u0301", 20), 12, "a" + strings.Repeat("\u0301", 4) + "…", "a" + strings.Repeat("\u0301", 10) + "…"},
		"invalid":       {"a byte that is no character counts as one", "\xff\xff\xff\xff\xff", 4, "\xff…", "\xff\xff\xff…"},
		"nothing":       {"the ellipsis is what is left at least", "abc", 0, "…", "…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sanitize.Clip(c.text, c.most); got != c.bytes {
				t.Errorf("%s: in bytes it is %q, want %q", c.reason, got, c.bytes)
			}
			if got := sanitize.ClipRunes(c.text, c.most); got != c.runes {
				t.Errorf("%s: in characters it is %q, want %q", c.reason, got, c.runes)
			}
		})
	}
}

// Callers search for the longest beginning that fits, so a higher limit must not give
// a shorter one.
func TestBeginGrowsWithItsLimit(t *testing.T) {
	text := "a" + strings.Repeat("\u0301", 9) + "bé\u0301漢\u0301字" + strings.Repeat("\u0300", 3)
	bytes, runes := "", ""
	for most := range len(text) + 1 {
		b, r := sanitize.Begin(text, most), sanitize.BeginRunes(text, most)
		if len(b) < len(bytes) || len(r) < len(runes) || !strings.HasPrefix(text, b) || !strings.HasPrefix(text, r) {
			t.Errorf("up to %d it is %q and %q, and up to one less %q and %q", most, b, r, bytes, runes)
		}
		if len(b) > most || utf8.RuneCountInString(r) > most {
			t.Errorf("%q and %q are more than %d", b, r, most)
		}
		bytes, runes = b, r
	}
	if bytes != text || runes != text {
		t.Errorf("without a limit it is %q and %q", bytes, runes)
	}
}
