// Package hostile has the strings that somebody would put in a name, a label, an
// annotation, a taint, a reason or a note to deceive whoever reads what is printed
// of it: a reviewer in a terminal, a pull request, a browser, or a program.
//
// A test takes each of [Strings], or of those that are [Bounded], fills the input of
// its writer with it by [Fill], and checks the output: [Hidden] finds characters that
// no output may have, and [Host], [User] and [Call] are the names that a link, a
// notification and a script would contain. [Any] makes more strings of the same parts,
// for random tests.
package hostile

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// The targets of the strings. There must be no link to Host, no notification of
// User, no call of Call.
const (
	Host = "evil.example"
	User = "mallory-canary"
	Call = "pwned()"
)

// String is a hostile string.
type String struct {
	// Name says what it attempts; it is unique, and suitable as the name of a subtest.
	Name string
	Text string
}

// Long is how long the very long strings are, in bytes: longer than a comment on a
// pull request may be.
const Long = 72 << 10

// Strings returns all of them, in a fixed order.
func Strings() []String { return slices.Clone(all()) }

// Bounded returns the strings with the very long ones cut to so many bytes. It is for a
// test that puts each string into every field of a large document: most of its time would
// go into writing hundreds of megabytes of the same. The bound has to be well above what
// the writer cuts a text to.
func Bounded(bytes int) []String {
	all := Strings()
	for i := range all {
		all[i].Text = all[i].Text[:min(len(all[i].Text), bytes)]
	}
	return all
}

// all are made once, as some are long.
var all = sync.OnceValue(func() []String {
	var all []String
	for _, group := range [][]String{terminal(), unseen(), markdown(), html(), platform(), structure(), long()} {
		all = append(all, group...)
	}
	return all
})

// Any makes a string of the parts of all others, up to the given number of them.
func Any(random *rand.Rand, parts int) string {
	all := all()
	var b strings.Builder
	for range random.IntN(parts + 1) {
		text := all[random.IntN(len(all))].Text
		if from := random.IntN(len(text) + 1); random.IntN(4) == 0 {
			text = text[from:] // may begin in the middle of a character
		}
		b.WriteString(text[:min(len(text), 200)])
		b.WriteString([]string{"", "", " ", "\n", "`", "\\", "|"}[random.IntN(7)])
	}
	return b.String()
}

// terminal strings control a terminal, or break a line of a log.
func terminal() []String {
	return []String{
		{"colour", "\x1b[31mred\x1b[0m"},
		{"clear screen", "\x1b[2J\x1b[H"},
		{"eight-bit control sequence", "\u009b31mred"},
		{"control sequence in a raw byte", "\x9b31mred"},
		{"window title", "\x1b]0;" + Call + "\x07"},
		{"terminal link", "\x1b]8;;https://" + Host + "/\x1b\\click\x1b]8;;\x1b\\"},
		{"clipboard", "\x1b]52;c;cm0gLXJmIC8=\x07"},
		{"carriage return", "deleted\rno difference"},
		{"backspace", "deleted\b\b\b\b\b\b\bcreated"},
		{"bell, nul and delete", "a\x07b\x00c\x7fd"},
		{"line feed", "first\nsecond"},
		{"carriage return and line feed", "first\r\nsecond"},
		{"blank line", "first\n\nsecond"},
		{"tab", "first\tsecond"},
		{"vertical tab and form feed", "first\vsecond\fthird"},
		{"next line", "first\u0085second"},
		{"line and paragraph separator", "first\u2028second\u2029third"},
	}
}

// unseen strings are not what they look like.
func unseen() []String {
	return []String{
		{"right-to-left override", "gpu\u202egpj.exe"},
		{"bidirectional isolate", "gpu\u2066; rm -rf /\u2069"},
		{"right-to-left mark", "gpu\u200fcpu\u200e"},
		{"zero width space", "g\u200bpu"},
		{"zero width joiner", "g\u200dp\u200cu\u2060"},
		{"byte order mark", "\ufeffgpu"},
		{"soft hyphen", "g\u00adpu"},
		{"tag characters", "gpu\U000e0069\U000e0067\U000e006e"},
		{"hangul filler", "gpu\u3164\u115f\uffa0"},
		{"no-break and wide spaces", "gpu\u00a0\u3000\u2003cpu"},
		{"combining grapheme joiner", "g\u034fpu #\u034f#[error]x"},
		{"variation selectors", "g\ufe0fp\U000e0101u\u180b"},
		{"inherent vowels", "g\u17b4p\u17b5u\u17b4"},
		{"null notehead", "g\U0001d159pu"},
		{"private use", "gpu\ue000\U0010fffd"},
		{"interlinear annotation", "gpu\ufff9a\ufffab\ufffb"},
		{"many combining marks", "g" + strings.Repeat("\u0338\u0353\u0329", 40) + "pu"},
		{"not UTF-8", "gpu\xff\xfe\xc3("},
		{"cut in a character", "gpu\xe2\x80"},
		{"surrogate", "gpu\xed\xa0\x80"},
		{"noncharacter", "gpu\uffff\U0010ffff"},
		{"empty", ""},
		{"space", " "},
		{"spaces around", "   gpu   "},
	}
}

// long strings are longer than anybody reads, and than a column is wide.
func long() []String {
	return []String{
		{"very long word", strings.Repeat("a", Long)},
		{"very long text", strings.Repeat("very long ", Long/10)},
		{"very many lines", strings.Repeat("line\n", Long/5)},
		{"very many backticks", strings.Repeat("`", Long)},
		{"very many wide characters", strings.Repeat("\U0001f600", Long/4)},
		{"very many escapes", strings.Repeat("\x1b", Long)},
		{"very deep nesting", strings.Repeat("> ", Long/16) + strings.Repeat("[", Long/16) + strings.Repeat("*", Long/16)},
	}
}
