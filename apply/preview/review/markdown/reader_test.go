package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/nodepools/nodepools/testdata/hostile"
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
	beginning = regexp.MustCompile("^(|#{2,4} .*|Note: .*|- .*|[|] .*|[*][*].*|```+(diff)?|… .*|[-+!] .*|  .*|@@ .*|</?(details|summary)>.*|<!-- nodepools:.*|(A|Changes|Compares|No|NoExecute|NodePool|Nodes|Of|Pods|RuntimeClass|Taints|Their|They|What) .*)$")
)

// violations returns the ways in which foreign text has escaped its place in a
// comment. There are none.
func violations(comment string) []string {
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
			if n.Level < 2 || n.Level > 4 {
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
