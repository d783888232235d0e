package markdown

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// reader reads Markdown as GitHub does, with all that its users can make: tables,
// bare links, task lists, struck out words, footnotes.
var reader = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList)).Parser()

// What a comment may be made of. A link, a picture, a tag within a line, a
// quotation, a rule, code by indentation and all else that is not here can come from
// foreign text alone.
var expected = map[ast.NodeKind]bool{
	ast.KindDocument: true, ast.KindHTMLBlock: true, ast.KindHeading: true, ast.KindParagraph: true, ast.KindTextBlock: true,
	ast.KindText: true, ast.KindCodeSpan: true, ast.KindEmphasis: true, ast.KindFencedCodeBlock: true,
	ast.KindList: true, ast.KindListItem: true,
	extast.KindTable: true, extast.KindTableHeader: true, extast.KindTableRow: true, extast.KindTableCell: true,
}

var (
	// Of characters that mean nothing to Markdown, GitHub or GitLab, as they are
	// used here.
	harmless = regexp.MustCompile(`^[A-Za-z0-9 .,:;()%'…-]*$`)
	// A commit, a ticket, an emoji, a web site.
	meaningful = regexp.MustCompile(`(?i)\b[0-9a-f]{7,}\b|\b[A-Z]+-[0-9]|:[a-z0-9_+-]+:|www\.|://`)
	// An opening of what is folded, with names as escaped code.
	opening  = regexp.MustCompile(`^<details>\n<summary>([A-Za-z0-9 ,:]|<code>([^<>&\n]|&(lt|gt|amp|#34|#39);)*</code>)*</summary>\n$`)
	marker   = regexp.MustCompile(`^<!-- nodepools:[A-Za-z0-9._/:%-]* -->\n$`)
	diffSign = regexp.MustCompile(`^([-+!] |  |@@ )`)
	// What each line of the source may begin with: bots, and GitLab with its quick
	// actions, read it line by line, without reading Markdown.
	beginning = regexp.MustCompile("^(|#{3,4} .*|- .*|[|] .*|[*][*].*|```+(diff)?|… .*|[-+!] .*|  .*|@@ .*|</?(details|summary)>.*|<!-- nodepools:.*|(A|Changes|Compares|Keys|No|NodePool|Nodes|Of|Pods|RuntimeClass|They|What) .*)$")
)

// inertness are the ways in which foreign text has got out of its place in a
// comment. There are none.
func inertness(comment string) []string {
	var found []string
	say := func(format string, a ...any) { found = append(found, fmt.Sprintf(format, a...)) }
	if !utf8.ValidString(comment) {
		say("it is not UTF-8")
	}
	if hidden := hostile.Hidden(comment); len(hidden) > 0 {
		say("it has hidden characters: %.200q", hidden)
	}
	for line := range strings.Lines(comment) {
		if !beginning.MatchString(strings.TrimSuffix(line, "\n")) {
			say("a line begins as none should: %.200q", line)
		}
	}
	source, open := []byte(comment), 0
	check := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if !expected[n.Kind()] {
			say("there is a %s: %.200q", n.Kind(), content(n, source))
			return ast.WalkSkipChildren, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			switch html := content(n, source); {
			case n.PreviousSibling() == nil && marker.MatchString(html):
			case opening.MatchString(html):
				open++
			case html == "</details>\n" && open == 1:
				open--
			default:
				say("there is HTML: %.200q", html)
			}
			if open > 1 {
				say("a fold is within another")
			}
		case *ast.Heading:
			if n.Level != 3 && n.Level != 4 {
				say("there is a heading of level %d", n.Level)
			}
		case *ast.Emphasis:
			if n.Level != 2 {
				say("there is emphasis: %.200q", content(n.Parent(), source))
			}
		case *ast.List:
			if n.IsOrdered() || n.Marker != '-' {
				say("there is a list of another kind")
			}
		case *ast.FencedCodeBlock:
			if string(n.Language(source)) != "diff" {
				say("there is a fence for %q", n.Language(source))
			}
			for line := range strings.Lines(content(n, source)) {
				if !diffSign.MatchString(line) {
					say("a line of a fence has no sign: %.200q", line)
				}
			}
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if text := string(n.Segment.Value(source)); !harmless.MatchString(text) || meaningful.MatchString(text) {
				say("outside of code there is %.200q", text)
			}
		}
		return ast.WalkContinue, nil
	}
	if err := ast.Walk(reader.Parse(text.NewReader(source)), check); err != nil {
		say("%v", err)
	}
	if open != 0 {
		say("a fold is not closed")
	}
	return found
}

// content is the source of a block.
func content(n ast.Node, source []byte) string {
	if n.Type() == ast.TypeInline {
		return n.Kind().String()
	}
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		b.Write(html.ClosureLine.Value(source))
	}
	return b.String()
}

// fences are the lines of all fences, one after the other.
func fences(comment string) []string {
	var lines []string
	source := []byte(comment)
	_ = ast.Walk(reader.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if fence, ok := n.(*ast.FencedCodeBlock); ok && entering {
			lines = append(lines, strings.Split(strings.TrimSuffix(content(fence, source), "\n"), "\n")...)
		}
		return ast.WalkContinue, nil
	})
	return lines
}

// outline is how a comment is built: the kinds of its blocks, each in its place.
func outline(comment string) []string {
	var kinds []string
	depth := 0
	_ = ast.Walk(reader.Parse(text.NewReader([]byte(comment))), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Type() == ast.TypeInline {
			return ast.WalkSkipChildren, nil
		}
		if entering {
			kinds = append(kinds, strings.Repeat(" ", depth)+n.Kind().String())
			depth++
		} else {
			depth--
		}
		return ast.WalkContinue, nil
	})
	return kinds
}

const boundless = 1 << 40

// Each hostile string, in all places of a review at once, is shown and does nothing:
// the comment is built as the one of a harmless word is.
func TestHostile(t *testing.T) {
	comment := func(text string, long bool) string {
		r := reviews.Everything()
		if long { // a few of them take long enough
			r.Pools, r.RuntimeClasses = r.Pools[:1], r.RuntimeClasses[:1]
		}
		hostile.Fill(r, func(string) string { return text })
		return written(t, r, Options{MaxBytes: boundless, Marker: text, Command: text})
	}
	for _, s := range hostile.Strings() {
		t.Run(s.Name, func(t *testing.T) {
			long := len(s.Text) > 10_000
			comment, want := comment(s.Text, long), outline(comment("x", long))
			for _, way := range inertness(comment) {
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

// The samples are inert, and their fences hold the lines of what changes, no more
// and no less.
func TestFences(t *testing.T) {
	for _, sample := range reviews.All() {
		t.Run(sample.Name, func(t *testing.T) {
			r, o := sample.Make(), Options{MaxBytes: boundless}
			if sample.Name == "big" {
				r = reviews.Big(20)
			}
			comment := written(t, r, o)
			for _, way := range inertness(comment) {
				t.Error(way)
			}
			var want []string
			for _, fold := range newDocument(r, o).folds() {
				for _, part := range fold.parts {
					want = append(want, part.lines...)
				}
			}
			if diff := cmp.Diff(want, fences(comment)); diff != "" {
				t.Errorf("the fences hold something else (-want +got):\n%s", diff)
			}
		})
	}
}

// The test of inertness notices what foreign text does, as it is what holds.
func TestInertnessNotices(t *testing.T) {
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
		if len(inertness(comment)) == 0 {
			t.Errorf("%s is not noticed: %q", reason, comment)
		}
	}
	if ways := inertness("<!-- nodepools:x -->\n\nNodePool `@mallory`, 3 nodes.\n"); len(ways) > 0 {
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
	comment := "Before it:\n\n" + fence(append(lines, "   ```", "```", "  ````````")) + "\n\nAfter it.\n"
	if diff := cmp.Diff(append(lines, "   ```", "```", "  ````````"), fences(comment)); diff != "" {
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
			if len(head) > DefaultMaxBytes/2 {
				t.Errorf("the summary has %d bytes", len(head))
			}
			if cut := strings.Count(head, "more"); cut < 7 {
				t.Errorf("of 7 texts it says %d times that they are cut:\n%s", cut, head)
			}
		})
	}
}
