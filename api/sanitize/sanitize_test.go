package sanitize_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/testdata/hostile"
)

func TestLine(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"plain":            {"nothing is wrong with it", "größer, 池, 😀, a::b, #[x], ## x", "größer, 池, 😀, a::b, #[x], ## x"},
		"control":          {"a terminal obeys it", "\x1b[31m\x9b\u009b\x00\x7f", `\x1b[31m\x9b\u009b\x00\x7f`},
		"ends of lines":    {"they forge a line", "a\nb\r\u2028\u2029\u0085\v\f\t", `a\nb\r\u2028\u2029\u0085\v\f\t`},
		"direction":        {"it turns what is around it", "\u202e\u2066\u200f", `\u202e\u2066\u200f`},
		"joiner":           {"it hides in a word", "p\u034fool", `p\u034fool`},
		"selectors":        {"they hide text", "a\ufe0f\U000e0100\u180b", `a\ufe0f\U000e0100\u180b`},
		"fillers":          {"letters of which nothing is seen", "\u3164\u115f\u1160\uffa0\u17b4\u2800\U0001d159", `\u3164\u115f\u1160\uffa0\u17b4\u2800\U0001d159`},
		"tags":             {"they hide text", "\U000e0041\ufff9", `\U000e0041\ufff9`},
		"marks":            {"four are a letter, more paint over others", "e\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301\u0301" + `\u0301`},
		"bytes":            {"no text", "\xff\xc3(", `\xff\xc3(`},
		"GitHub":           {"a command at the beginning of a line", "::set-output name=x::y", `\u003a:set-output name=x::y`},
		"blanks":           {"the runner passes over them", "  ::add-mask::x", `  \u003a:add-mask::x`},
		"hidden blanks":    {"they are escapes then", "\u00a0::add-mask::x", `\u00a0::add-mask::x`},
		"colour":           {"some runners take them off", "\x1b[0m::x", `\x1b[0m::x`},
		"anywhere":         {"commands anywhere in a line", "a ##[group]b ##vso[c] ##VSO[d] ###[e]", `a #\u0023[group]b #\u0023vso[c] #\u0023VSO[d] ##\u0023[e]`},
		"TeamCity":         {"another runner", "##teamcity[x]", `#\u0023teamcity[x]`},
		"joined":           {"the joiner is seen, so it parts them", "#\u034f#[x]", `#\u034f#[x]`},
		"escapes of a URL": {"nobody takes these off but in a command", "%0A::x", "%0A::x"},
	}
	for name, c := range cases {
		if got := sanitize.Line(c.text); got != c.want {
			t.Errorf("%s: %s, want %s: %s", name, got, c.want, c.reason)
		}
	}
	if got, want := sanitize.Text("a\n::x\n\u2028::x\n ::y"), "a\n\\u003a:x\n\\u2028::x\n \\u003a:y"; got != want {
		t.Errorf("lines became %q, want %q", got, want)
	}
}

// check holds a text to all that is promised of any.
func check(t *testing.T, text string) {
	t.Helper()
	line, lines := sanitize.Line(text), sanitize.Text(text)
	for _, got := range []string{line, lines, sanitize.Quote(text)} {
		if hidden := hostile.Hidden(got); len(hidden) > 0 {
			t.Errorf("%.200q has %q", got, hidden)
		}
		if found := hostile.Commands(got); len(found) > 0 {
			t.Errorf("%.200q has %q", got, found)
		}
		if again := sanitize.Text(got); again != got {
			t.Errorf("%.200q becomes %.200q when it is sanitized again", got, again)
		}
	}
	if strings.Contains(line, "\n") || !utf8.ValidString(line) || len(line) > 10*len(text) {
		t.Errorf("%.200q is no line of a bounded length", line)
	}
	if strings.Count(lines, "\n") != strings.Count(text, "\n") {
		t.Errorf("%.200q has other lines than %.200q", lines, text)
	}
	if sanitize.Plain(text) && sanitize.BreakCommands(text) != line {
		t.Errorf("%.200q is plain, and is changed", text)
	}
	for _, most := range []int{0, 1, 2, 3, 5, 10, 100} {
		if got := sanitize.Clip(text, most); most > 2 && len(got) > most || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("clipped to %d, %.200q is %q", most, text, got)
		}
	}
	checkDocument(t, text)
}

// checkDocument writes the text as JSON and reads it back.
func checkDocument(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		return
	}
	written, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	safe, read := sanitize.JSON(string(written)), map[string]string{}
	if len(hostile.Hidden(safe)) > 0 || len(hostile.Commands(safe)) > 0 {
		t.Errorf("%.200q is no harmless document", safe)
	}
	if err := json.Unmarshal([]byte(safe), &read); err != nil || read[text] != text {
		t.Errorf("%.200q is read back as %.200q: %v", safe, read, err)
	}
}

func TestHostileStrings(t *testing.T) {
	for _, each := range hostile.Strings() {
		t.Run(each.Name, func(t *testing.T) { check(t, each.Text) })
	}
	for seed := range uint64(200) {
		check(t, hostile.Any(rand.New(rand.NewPCG(seed, 1)), 8))
	}
}

func FuzzText(f *testing.F) {
	for _, each := range hostile.Strings() {
		if len(each.Text) < 1000 {
			f.Add(each.Text)
		}
	}
	f.Fuzz(check)
}

// However a stream is cut into writes, what comes out is the same, and harmless.
func TestWriter(t *testing.T) {
	text := "error: x\n::error::y ##[group]z\n  ##v\u034fso[\n" + strings.Repeat("é\n", 10) + "::end"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := sanitize.NewWriter(&out)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != sanitize.Text(text) {
			t.Fatalf("in parts of %d bytes it is %q", size, out.String())
		}
	}
	var out bytes.Buffer
	w := sanitize.NewWriter(&out)
	for range 3 << 10 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() < 1<<20 {
		t.Errorf("of a line without an end %d bytes were written, and all else is kept", out.Len())
	}
}

// A server that says much fills no log.
func TestMessageIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	if got := sanitize.Message(long); len(got) > 8192 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes are left, which end with %q", len(got), got[max(len(got)-10, 0):])
	}
	if got := sanitize.Message("a\nb\x1b[2J"); got != "a\nb"+`\x1b[2J` {
		t.Errorf("got %q", got)
	}
}
