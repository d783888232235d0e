package docs

import (
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// A Heading of a page.
type Heading struct {
	Level int // 1 for the title
	Text  string
	// Anchor is the fragment that GitHub derives from the text. No page has two
	// headings with the same one.
	Anchor string
}

// A Block is a fenced block of code.
type Block struct {
	Language string // empty where none is given
	Text     string
}

// Content is what a page is made of, in its order.
type Content struct {
	Headings []Heading
	Blocks   []Block
	// Links are the destinations of links and images.
	Links []string
	// Spans are the texts that are set as code within a line.
	Spans []string
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// Content parses the page as GitHub does.
func (p Page) Content() Content {
	source := []byte(p.Text)
	var content Content
	_ = ast.Walk(markdown.Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			plain := inline(node, source)
			content.Headings = append(content.Headings, Heading{Level: node.Level, Text: plain, Anchor: anchor(plain)})
		case *ast.FencedCodeBlock:
			content.Blocks = append(content.Blocks, Block{Language: string(node.Language(source)), Text: string(node.Lines().Value(source))})
		case *ast.Link:
			content.Links = append(content.Links, string(node.Destination))
		case *ast.Image:
			content.Links = append(content.Links, string(node.Destination))
		case *ast.CodeSpan:
			content.Spans = append(content.Spans, strings.ReplaceAll(inline(node, source), "\n", " "))
		}
		return ast.WalkContinue, nil
	})
	return content
}

// inline returns the text within a node, without its markup.
func inline(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(child ast.Node, entering bool) (ast.WalkStatus, error) {
		switch child := child.(type) {
		case *ast.Text:
			if entering {
				out.Write(child.Segment.Value(source))
				if child.SoftLineBreak() {
					out.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				out.Write(child.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// anchor returns the fragment by which GitHub links to a heading: letters, digits, -
// and _ of any script, in lower case, with a hyphen for each space.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
