package markdown

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

const boundless = 1 << 40

// Each hostile string, in all places of a review at once, is shown and does nothing:
// the comment is built as the one of a harmless word is.
func TestHostile(t *testing.T) {
	comment := func(text string, long bool) string {
		r := reviews.Everything()
		if long { // to write them as YAML takes long
			r.Pools, r.RuntimeClasses = nil, nil
		}
		hostile.Fill(r, func(string) string { return text })
		return written(t, r, Options{MaxBytes: boundless, Marker: text, Command: text})
	}
	outlines := map[bool][]string{false: outline(comment("x", false)), true: outline(comment("x", true))}
	for _, s := range hostile.Strings() {
		t.Run(s.Name, func(t *testing.T) {
			long := len(s.Text) > 10_000
			comment, want := comment(s.Text, long), outlines[long]
			for _, way := range violations(comment) {
				t.Error(way)
			}
			if strings.TrimSpace(s.Text) == "" {
				return // it says less
			}
			if diff := cmp.Diff(want, outline(comment)); diff != "" {
				t.Errorf("the comment is built otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

// violations recognizes what foreign text can do: the tests above rely on it.
func TestViolationsAreNoticed(t *testing.T) {
	for reason, comment := range map[string]string{
		"a link":                "[click](https://evil.example/)\n",
		"a bare address":        "See https://evil.example/ for more.\n",
		"a mention":             "See @mallory for more.\n",
		"an issue":              "See #1 for more.\n",
		"a commit":              "See da39a3ee for more.\n",
		"a ticket":              "See PROJECT-1 for more.\n",
		"an emoji":              "See :tada: for more.\n",
		"a tag":                 "See <b>this</b> for more.\n",
		"a block of HTML":       "<div>\n",
		"a picture":             "![x](y)\n",
		"a quotation":           "> x\n",
		"a rule":                "---\n",
		"a task":                "- [x] approved\n",
		"an ordered list":       "1. approved\n",
		"code by indentation":   "    approved\n",
		"a large heading":       "# Approved\n",
		"an underlined heading": "Approved it is\n===\n",
		"a quick action":        "/close\n",
		"another fence":         "```suggestion\n+ x\n```\n",
		"an unsigned line":      "```diff\nx\n```\n",
		"an open fold":          "<details>\n<summary>x</summary>\n\nNot closed.\n",
		"a fold in a fold":      "<details>\n<summary>x</summary>\n\n<details>\n<summary>x</summary>\n\n</details>\n\n</details>\n",
		"a closed fold":         "</details>\n",
		"a tag in a title":      "<details>\n<summary><b>x</b></summary>\n\n</details>\n",
		"a second marker":       "Some text.\n\n<!-- nodepools:x -->\n",
		"an escape":             "- `\x1b`\n",
		"no UTF-8":              "- `\xff`\n",
	} {
		if len(violations(comment)) == 0 {
			t.Errorf("%s is not noticed: %q", reason, comment)
		}
	}
	if ways := violations("<!-- nodepools:x -->\n\nNodePool `@mallory`, 3 nodes.\n"); len(ways) > 0 {
		t.Error("noticed where there is nothing:", ways)
	}
}

// Markers of different identities differ, and none can end its comment.
func TestMarker(t *testing.T) {
	seen := map[string]string{}
	texts := map[string]bool{"": true, "a": true, "-": true, "--": true, "a--b": true, "a%2D": true, "a%2Db": true, "--!>": true, "team-a": true, "a-": true}
	for _, s := range hostile.Strings() {
		texts[s.Text] = true
	}
	for _, identity := range slices.Sorted(maps.Keys(texts)) {
		line := Marker(identity)
		inside := strings.TrimSuffix(strings.TrimPrefix(line, "<!-- nodepools:"), " -->")
		if !marker.MatchString(line+"\n") || strings.Contains(inside, "--") {
			t.Errorf("%.100q: a comment is not safe: %.100q", identity, line)
		}
		if other, there := seen[line]; there {
			t.Errorf("%.100q and %.100q have the same marker", identity, other)
		}
		seen[line] = identity
	}
	if got, want := Marker("team-a/pools"), "<!-- nodepools:team-a/pools -->"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// No line closes the fence in which it stands, wherever in it the backticks are.
func TestFence(t *testing.T) {
	var lines []string
	for _, marks := range []string{"```", "~~~", "````````", "```diff", "~~~~~~~~"} {
		for indent := range 5 {
			for _, sign := range []rune{' ', '+', '-', '~', '…', 'x'} {
				lines = append(lines, diffLine(sign, strings.Repeat(" ", indent)+marks))
			}
		}
	}
	for _, s := range hostile.Strings() {
		lines = append(lines, diffLine('+', s.Text))
		if n := len(lines[len(lines)-1]); n > maxLine+100 {
			t.Errorf("%s: a line has %d bytes", s.Name, n)
		}
	}
	lines = append(lines, "   ```", "```", "  ````````")
	comment := "Before it:\n\n" + fence(lines) + "\n\nAfter it.\n"
	if diff := cmp.Diff(lines, fences(comment)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However long names and texts are, a comment holds the whole summary, and says of
// each how much more there is.
func TestLongSummary(t *testing.T) {
	for _, s := range hostile.Strings() {
		if len(s.Text) < 10_000 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			r := reviews.Everything()
			r.Pools, r.RuntimeClasses = nil, nil
			hostile.Fill(r, func(string) string { return s.Text })
			comment := written(t, r, Options{Command: s.Text})
			head, _, _ := strings.Cut(comment, "####")
			if len(head) > DefaultMaxBytes*2/3 {
				t.Errorf("the summary has %d bytes", len(head))
			}
			if cut := strings.Count(head, "more"); cut < 7 {
				t.Errorf("of 7 texts it says %d times that they are cut:\n%s", cut, head)
			}
		})
	}
}
